//! `stablehand policy exec`: one command in the sandbox of a policy, to try the policy out.

use super::find::SourceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::say;
use stablehand::policy_world::FileWorld;
use stablehand::sandbox::{self, SandboxPlaces, SandboxPlan};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Variables that name caches of tools.
const CACHE_VARIABLES: &[&str] = &[
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "GRADLE_USER_HOME",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "SCCACHE_DIR",
    "CCACHE_DIR",
    "DENO_DIR",
];

/// Run a command in the sandbox that a policy makes
#[derive(Debug, clap::Args)]
pub(super) struct ExecArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// Refuse to start if the system cannot hold all of it
    #[arg(long)]
    require: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs it. Does not return where the command starts.
pub(super) fn main(args: &ExecArgs, env: &Env) -> Result<u8, Failure> {
    let sources = args.sources.sources();
    let workspace = sources.workspace()?;
    let (policy, files) = sources.policy(&env.places())?;
    if policy.says_nothing() {
        return Err(Failure::usage("no policy was found")
            .hint("name one with --policy FILE or --profile workspace-write"));
    }
    let world = FileWorld::new(&workspace, env.home.as_deref(), &files);
    let plan = SandboxPlan::new(&policy, "", &world, &places(env));
    std::env::set_current_dir(&workspace).map_err(|error| {
        Failure::new(format!("cannot enter the workspace {}: {error}", workspace.display()))
    })?;
    let entered = sandbox::enter(&plan)
        .map_err(|error| Failure::new(format!("cannot set up the sandbox: {error}")))?;
    if args.require && !entered.missing.is_empty() {
        let why = entered.missing.join("; ");
        return Err(Failure::new(format!("the system cannot hold the whole policy: {why}"))
            .hint("leave out --require to run with what it can hold"));
    }
    for missing in &entered.missing {
        say(&format!("warning: {missing}"));
    }
    let (program, rest) = args.command.split_first().ok_or_else(|| Failure::usage("no command"))?;
    let error = Command::new(program).args(rest).exec();
    Err(Failure::new(format!("cannot run `{}`: {error}", program.to_string_lossy())))
}

fn places(env: &Env) -> SandboxPlaces {
    let folder = |name: &&str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let temporary = [PathBuf::from("/tmp"), PathBuf::from("/var/tmp"), std::env::temp_dir()];
    SandboxPlaces {
        home: env.home.clone(),
        runtime: env.xdg_runtime.clone(),
        temporary: temporary.to_vec(),
        caches: CACHE_VARIABLES.iter().filter_map(folder).collect(),
        state: Vec::new(),
        ours: env.state().into_iter().chain(env.config_file()).collect(),
    }
}
