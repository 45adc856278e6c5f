//! `stablehand fake-agent`: a scripted agent in any dialect, so that people can test what runs
//! their agents.
//!
//! Owns the flags and what is asked of the surroundings; scripts, dialects and the acting are
//! `stablehand_fake`'s.

use crate::failure::Failure;
use crate::output::print;
use stablehand_core::Dialect;
use stablehand_fake::hooks::{self, Mode, Surroundings};
use stablehand_fake::native::{self, Native};
use stablehand_fake::perform::{self, Options, Record};
use stablehand_fake::scene::{SCENES, Scene};
use stablehand_fake::shim::{self, Play};
use stablehand_fake::{Clock, Identity, SPOKEN, is_server, script, version_line};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// The subcommand: a child of a script is started with it too.
pub const SUBCOMMAND: &str = "fake-agent";

/// What an agent exits with when whoever read it is gone.
const READER_GONE: u8 = 141;

/// The scene of whoever names none.
const USUAL_SCENE: &str = "hello";

/// Play a scripted agent in any dialect, to test what runs agents
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Everything after `--` is what the real agent would be given: a session to \
    resume, a model, a prompt, `--input-format stream-json` and `app-server` are understood, the \
    rest is accepted and ignored. Without a prompt, it is read from standard input.\n\n\
    stablehand fake-agent --dialect codex --scene shell --prompt hi\n\
    stablehand fake-agent --shims ./bin && PATH=$PWD/bin:$PATH stablehand run --agent codex hi"
)]
pub struct FakeArgs {
    /// What it speaks
    #[arg(long, value_name = "DIALECT", default_value = Dialect::DEFAULT.name(), value_parser = dialect,
          help = format!("What it speaks: {}", spoken_names()))]
    dialect: Dialect,

    /// What it plays; see --list
    #[arg(long, value_name = "NAME")]
    scene: Option<String>,

    /// Play a script of your own; its grammar is in docs/fake-agent.md
    #[arg(long, value_name = "FILE", conflicts_with = "scene")]
    script: Option<PathBuf>,

    /// List the scenes
    #[arg(long)]
    list: bool,

    /// Print the script of the scene instead of playing it
    #[arg(long)]
    print_script: bool,

    /// How many times faster than the script says it waits
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,

    /// What it is asked
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Note arguments, environment, prompt and process ids of each start in this folder; the n-th
    /// start plays the n-th section of the script
    #[arg(long, value_name = "DIR", env = "STABLEHAND_FAKE_RECORD")]
    record: Option<PathBuf>,

    /// Which hooks of the workspace and of the home it runs: print (those of a run without a
    /// terminal), all, old (only those around shell commands), none
    #[arg(long, value_name = "WHICH", default_value = "print", value_parser = mode,
        env = "STABLEHAND_FAKE_HOOKS")]
    hooks: Mode,

    /// Take no images, in the Agent Client Protocol
    #[arg(long, env = "STABLEHAND_FAKE_BLIND", value_parser = clap::builder::FalseyValueParser::new())]
    blind: bool,

    /// Run no hooks; the same as --hooks none
    #[arg(long)]
    no_hooks: bool,

    /// Write programs named like the real agents into this folder, to put it first on PATH; they
    /// play the scene, or the one in `STABLEHAND_FAKE_SCENE`
    #[arg(long, value_name = "DIR")]
    shims: Option<PathBuf>,

    /// What the real agent would be given
    #[arg(last = true, value_name = "NATIVE")]
    native: Vec<OsString>,
}

fn dialect(name: &str) -> Result<Dialect, String> {
    let spoken = SPOKEN.iter().copied().find(|dialect| dialect.name() == name);
    spoken.ok_or_else(|| format!("no fake agent speaks `{name}`; there is: {}", spoken_names()))
}

fn spoken_names() -> String {
    let names: Vec<_> = SPOKEN.iter().map(|dialect| dialect.name()).collect();
    names.join(", ")
}

fn mode(word: &str) -> Result<Mode, String> {
    Mode::from_word(word).ok_or_else(|| {
        let known: Vec<_> = Mode::ALL.iter().map(|mode| mode.word()).collect();
        format!("there is no `{word}`; there is: {}", known.join(", "))
    })
}

/// Runs it.
pub fn main(args: &FakeArgs) -> Result<u8, Failure> {
    if args.list {
        return list();
    }
    if let Some(folder) = &args.shims {
        return shims(args, folder);
    }
    let text = text(args)?;
    if args.print_script {
        return print(&text);
    }
    if !(args.speed.is_finite() && args.speed > 0.0) {
        return Err(Failure::usage("--speed: must be more than 0"));
    }
    play(args, &text)
}

fn scene(args: &FakeArgs) -> Result<&'static Scene, Failure> {
    let name = args.scene.as_deref().unwrap_or(USUAL_SCENE);
    Scene::by_name(name).ok_or_else(|| {
        Failure::usage(format!("no scene `{name}`"))
            .hint("`stablehand fake-agent --list` lists them")
    })
}

fn text(args: &FakeArgs) -> Result<String, Failure> {
    match &args.script {
        None => scene(args).map(|scene| scene.script.to_owned()),
        Some(path) => std::fs::read_to_string(path).map_err(|e| {
            Failure::new(format!("failed to read the script `{}`: {e}", path.display()))
        }),
    }
}

fn list() -> Result<u8, Failure> {
    let width = SCENES.iter().map(|scene| scene.name.len()).max().unwrap_or_default();
    let line = |scene: &Scene| format!("{:width$}  {}", scene.name, scene.about);
    print_lines(SCENES.iter().map(line))
}

fn print_lines(lines: impl Iterator<Item = String>) -> Result<u8, Failure> {
    print(&(lines.collect::<Vec<_>>().join("\n") + "\n"))
}

fn shims(args: &FakeArgs, folder: &Path) -> Result<u8, Failure> {
    let play = match &args.script {
        Some(path) => Play::Script(std::path::absolute(path).map_err(|e| {
            Failure::new(format!("failed to find the script `{}`: {e}", path.display()))
        })?),
        None => Play::Scene(scene(args)?.name.to_owned()),
    };
    let binary = std::env::current_exe()
        .map_err(|e| Failure::new(format!("failed to find our own program: {e}")))?;
    let written = shim::write(folder, &binary, &play)
        .map_err(|e| Failure::new(stablehand::error_chain(&e)))?;
    print_lines(written.iter().map(|path| path.display().to_string()))
}

fn play(args: &FakeArgs, text: &str) -> Result<u8, Failure> {
    let dialect = native::spoken(args.dialect, &args.native);
    let native = Native::read(dialect, &args.native);
    if native.version {
        return print(&format!("{}\n", version_line(dialect)));
    }
    let sections = script::parse(text, dialect).map_err(|e| Failure::usage(format!("{e}")))?;
    let is_server = is_server(dialect);
    let two_way = native.two_way || is_server;
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let record = Record::begin(args.record.clone(), &arguments);
    let prompt = match args.prompt.as_ref().or(native.prompt.as_ref()) {
        Some(prompt) => prompt.clone(),
        None if two_way => String::new(),
        None => read_prompt(&record)?,
    };
    if !two_way && record.number() > sections.len() {
        let (number, count) = (record.number(), sections.len());
        return Err(Failure::new(format!("start {number}, but the script has {count} sections"))
            .hint("a script has one section a start, with `---` between them"));
    }
    let unique = stablehand::new_run_id().0;
    let cwd = native.cwd.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let hooks = Surroundings {
        mode: if args.no_hooks { Mode::Off } else { args.hooks },
        workspace: cwd.clone(),
        home: std::env::home_dir(),
        settings: native.settings,
        system_settings: std::env::var_os(hooks::SYSTEM_SETTINGS).map(PathBuf::from),
        environment: std::env::vars_os().collect(),
    };
    let session = native.resume.clone().or(native.session);
    let identity = Identity {
        session: session.unwrap_or_else(|| native::new_session(dialect, &unique)),
        resumed: native.resume.is_some(),
        unique,
        model: native.model,
        cwd: cwd.display().to_string(),
        partial: native.partial,
        thinking: native.thinking,
        asks: native.asks || is_server,
        plans: false,
        sees: !args.blind,
    };
    let options = Options {
        dialect,
        clock: Clock::Real,
        identity,
        prompt,
        record,
        speed: args.speed,
        child_words: vec![SUBCOMMAND.into()],
        closed_code: READER_GONE,
        hooks,
    };
    if two_way {
        return Ok(perform::converse(&sections, options));
    }
    Ok(perform::play(&sections, options))
}

/// The prompt by standard input, to its end; a person at a terminal has none to give.
fn read_prompt(record: &Record) -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(format!("failed to read the prompt: {e}")))?;
    record.note_run("stdin", &bytes);
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}
