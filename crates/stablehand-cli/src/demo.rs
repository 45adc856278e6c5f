//! The demo agent: a scripted agent that speaks Cursor's stream, so that everything can be tried
//! without an account.
//!
//! A word in the prompt chooses the scene; the scenes and the acting are `stablehand_fake`'s. It
//! really waits, really runs commands and really hangs; only the thinking is made up.

use crate::failure::Failure;
use stablehand_core::Dialect;
use stablehand_fake::hooks::Surroundings;
use stablehand_fake::perform::{self, Options, Record};
use stablehand_fake::{Clock, Identity, scene, script};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;

/// What an agent exits with when whoever read it is gone.
const READER_GONE: u8 = 141;

/// What the demo agent understands; anything else is ignored, as it may be meant for a real one.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    #[arg(long, allow_hyphen_values = true)]
    resume: Option<String>,
    #[arg(long)]
    model: Option<String>,
    #[arg(long)]
    workspace: Option<PathBuf>,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Plays the scene that the prompt asks for.
pub fn main(args: &DemoArgs) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(format!("failed to read the prompt: {e}")))?;
    let prompt = String::from_utf8_lossy(&bytes).trim().to_owned();
    let sections = script::parse(&scene::demo_script(&prompt), Dialect::Cursor)
        .map_err(|e| Failure::new(e.to_string()))?;
    let cwd = args.workspace.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let identity = Identity {
        session: args.resume.clone().unwrap_or_else(|| stablehand::new_run_id().0),
        resumed: args.resume.is_some(),
        unique: stablehand::new_run_id().0,
        model: Some(args.model.clone().unwrap_or_else(|| "Demo 1".into())),
        cwd: cwd.display().to_string(),
        partial: true,
        thinking: true,
        asks: false,
    };
    let options = Options {
        dialect: Dialect::Cursor,
        clock: Clock::Real,
        identity,
        prompt,
        record: Record::begin(None, &[]),
        speed: 1.0,
        child_words: Vec::new(),
        closed_code: READER_GONE,
        // A try-out must not run what somebody has set up for the real program.
        hooks: Surroundings::none(),
    };
    Ok(perform::play(&sections, options))
}
