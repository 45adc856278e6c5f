//! A conversation: one line, one turn, one log for all of them.

use super::{WrapArgs, complain};
use crate::env::Env;
use crate::failure::Failure;
use crate::input::Prompts;
use crate::shell::{Follow, Format, Interrupt, Left, Setup, Shell, TurnOver, by_signal};
use stablehand::session::SessionSpec;
use stablehand_core::event::{SessionEnd, TurnEnd};
use stablehand_core::record::PromptAfterHang;

/// The signal of Ctrl-C.
const SIGINT: i32 = 2;

/// Talks until the input ends.
pub(super) fn talk(
    env: &Env,
    spec: SessionSpec,
    setup: &Setup,
    args: &WrapArgs,
) -> Result<u8, Failure> {
    let mut prompts = Prompts::open(env);
    let first = args.prompt.join(" ");
    let is_busy = !first.trim().is_empty();
    let spec = if is_busy { spec.prompt(first) } else { spec };
    let mut shell = Shell::start(env, spec.conversation(), setup)?;
    let has_person = prompts.is_terminal();
    let mut hangs = 0;
    let after = |shell: &Shell, turn: TurnOver, signal: Option<i32>| match turn.run {
        SessionEnd::Success => {
            hangs = 0;
            Follow::Ask
        }
        SessionEnd::Hung => {
            announce(shell, setup.format, &turn.end);
            hangs += 1;
            again(shell, args, hangs).map_or(Follow::Ask, Follow::With)
        }
        // A person who interrupts a turn wants to say something else.
        SessionEnd::Interrupted if has_person && signal == Some(SIGINT) => {
            hangs = 0;
            Follow::Ask
        }
        _ => Follow::Leave,
    };
    let left = shell.converse(&mut prompts, is_busy, Interrupt::Pass, after)?;
    shell.handle().finish();
    let ended = shell.wait()?;
    let code = match left {
        Left::InputEnded => 0,
        Left::Signal(signal) => by_signal(signal),
        Left::Over => {
            complain(&shell, &ended);
            ended.exit_code()
        }
    };
    Ok(shell.close(&ended, code))
}

/// The prompt for an agent that hung so often in a row, where there is one.
fn again(shell: &Shell, args: &WrapArgs, hangs: u32) -> Option<String> {
    let prompt = args.prompt_after_hang.clone().filter(|_| hangs <= args.max_hang_retries)?;
    let text = "using prompt-after-hang".to_owned();
    shell.handle().note(PromptAfterHang { prompt: prompt.clone(), in_a_row: hangs, text });
    Some(prompt)
}

/// Tells whoever reads standard output that the turn was ended by us.
fn announce(shell: &Shell, format: Format, end: &TurnEnd) {
    let why = match end {
        TurnEnd::Stopped { message, .. } => message.as_str(),
        _ => "",
    };
    shell.insert(&match format {
        Format::Text => {
            let why = why.strip_prefix("hang detected: ").unwrap_or(why);
            let why = stablehand_core::text::plain(why);
            format!("⚠ Hang detected — killed cursor-agent ({why})\n")
        }
        Format::StreamJson | Format::Events | Format::Quiet => {
            let event = serde_json::json!({
                "type": "wrapper", "subtype": "hang_detected", "message": why,
            });
            format!("{event}\n")
        }
    });
}
