//! The demo agent: a scripted agent, so that everything can be tried without an account.
//!
//! A word in the prompt chooses the scene; the scenes and the acting are `stablehand_fake`'s. It
//! really waits, really runs commands and really hangs; only the thinking is made up. For one turn it
//! speaks Cursor's stream; with `--listen` it is talked with in the Agent Client Protocol.

use crate::failure::Failure;
use stablehand_core::Dialect;
use stablehand_fake::hooks::Surroundings;
use stablehand_fake::perform::{self, Options, Record, Turn};
use stablehand_fake::scene::{DemoAsks, DemoTurn, demo_steps};
use stablehand_fake::{Clock, Identity};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;

/// What an agent exits with when whoever read it is gone.
const READER_GONE: u8 = 141;

/// What the demo agent understands; anything else is ignored, as it may be meant for a real one.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Take prompts as long as they come, and ask before anything is done.
    #[arg(long)]
    listen: bool,
    /// Ask before everything, also before what is harmless.
    #[arg(long)]
    ask_always: bool,
    #[arg(long, allow_hyphen_values = true)]
    resume: Option<String>,
    #[arg(long)]
    model: Option<String>,
    #[arg(long)]
    mode: Option<String>,
    #[arg(long)]
    workspace: Option<PathBuf>,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Plays the scenes that the prompts ask for.
pub fn main(args: &DemoArgs) -> Result<u8, Failure> {
    if args.listen { Ok(converse(args)) } else { play(args) }
}

/// One turn, whose prompt comes by standard input.
fn play(args: &DemoArgs) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(format!("failed to read the prompt: {e}")))?;
    let prompt = String::from_utf8_lossy(&bytes).trim().to_owned();
    let steps = demo_steps(&DemoTurn {
        prompt: &prompt,
        dialect: Dialect::Cursor,
        only_plans: args.mode.as_deref() == Some("plan"),
        asks: DemoAsks::Nothing,
    });
    let steps = steps.map_err(|e| Failure::new(e.to_string()))?;
    Ok(perform::play(&[steps], args.options(Dialect::Cursor, prompt)))
}

/// A turn for each prompt, until no more can come.
fn converse(args: &DemoArgs) -> u8 {
    let choose = |turn: &Turn<'_>| {
        let asks = match turn.mode {
            Some("yolo") => DemoAsks::Nothing,
            _ if args.ask_always => DemoAsks::Everything,
            _ => DemoAsks::Changes,
        };
        let only_plans = turn.mode == Some("plan");
        let turn = DemoTurn { prompt: turn.prompt, dialect: Dialect::Acp, only_plans, asks };
        // Scenes are scripts, which a test has read.
        demo_steps(&turn).ok()
    };
    perform::converse_by(choose, args.options(Dialect::Acp, String::new()))
}

impl DemoArgs {
    fn options(&self, dialect: Dialect, prompt: String) -> Options {
        let here = || std::env::current_dir().ok();
        let cwd = self.workspace.clone().or_else(here).unwrap_or_default();
        let identity = Identity {
            session: self.resume.clone().unwrap_or_else(|| stablehand::new_run_id().0),
            resumed: self.resume.is_some(),
            unique: stablehand::new_run_id().0,
            model: Some(self.model.clone().unwrap_or_else(|| "Demo 1".into())),
            cwd: cwd.display().to_string(),
            partial: true,
            thinking: true,
            asks: self.listen,
            plans: true,
            sees: true,
        };
        Options {
            dialect,
            clock: Clock::Real,
            identity,
            prompt,
            record: Record::begin(None, &[]),
            speed: 1.0,
            child_words: Vec::new(),
            closed_code: READER_GONE,
            // A try-out must not run what somebody has set up for the real program.
            hooks: Surroundings::none(),
        }
    }
}
