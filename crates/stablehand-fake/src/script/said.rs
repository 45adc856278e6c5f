//! The steps that say something: their words, and the acts that they become.

use super::words::{Words, duration, number, text, timeout};
use super::{Refusal, Step};
use crate::act::{Act, Call, CursorAct, Ending, FILE, Place, Todo, TodoState, Trouble, Work};
use serde_json::Value;

/// What a long message is made of.
const FILLER: &str = "Oats and hay, hay and oats, and a carrot on Sundays. ";

/// The longest message that `long` makes: the text is held in memory.
const LONGEST: usize = 64 << 20;

/// The steps of a line that says something, or nothing for any other line.
pub(super) fn parse(verb: &str, words: &mut Words<'_>) -> Result<Option<Vec<Step>>, Refusal> {
    let step = match verb {
        "init" => {
            let session = text(words.rest())?;
            Step::Tell(Act::Begins(Some(session).filter(|session| !session.is_empty())))
        }
        "user" => Step::Tell(Act::Prompt(text(words.rest())?)),
        "prompt" => Step::TellPrompt,
        "thinking" => Step::Think(text(words.rest())?),
        "assistant" => Step::Message(text(words.rest())?, Place::Last),
        "assistant-before-tool" => Step::Message(text(words.rest())?, Place::BeforeTool),
        "long" => Step::Message(filler(number(words.next()?)?), Place::Last),
        "delta" => Step::Tell(Act::Piece(text(words.rest())?)),
        "result" => ends(Some(text(words.rest())?), false),
        "result-error" => ends(Some(text(words.rest())?), true),
        "done" => ends(None, false),
        "plan" => Step::Tell(Act::Plan(plan(&text(words.rest())?)?)),
        "retry" => {
            let attempt = number(words.next()?)?;
            Step::Tell(Act::Retries { attempt, trouble: trouble(words.next()?)? })
        }
        "usage" => {
            let (input, output) = (number(words.next()?)?, number(words.next()?)?);
            Step::Tell(Act::Uses { input, output })
        }
        "error" => Step::Tell(Act::Fails(trouble(words.next()?)?)),
        _ => return tool(verb, words),
    };
    Ok(Some(vec![step]))
}

fn ends(text: Option<String>, failed: bool) -> Step {
    Step::Tell(Act::Ends { text, failed })
}

fn filler(bytes: usize) -> String {
    let mut text = FILLER.repeat(bytes.min(LONGEST).div_ceil(FILLER.len()));
    text.truncate(bytes.min(LONGEST));
    text
}

fn trouble(word: &str) -> Result<Trouble, Refusal> {
    Trouble::from_word(word).ok_or_else(|| {
        let known: Vec<_> = Trouble::ALL.iter().map(|trouble| trouble.word()).collect();
        format!("unknown trouble; there is {}", known.join(", ")).into()
    })
}

fn plan(text: &str) -> Result<Vec<Todo>, Refusal> {
    let todo = |entry: &str| {
        let entry = entry.trim();
        let states =
            [("[x]", TodoState::Done), ("[>]", TodoState::Current), ("[ ]", TodoState::Open)];
        states
            .into_iter()
            .find_map(|(mark, state)| {
                let text = entry.strip_prefix(mark)?.trim().to_owned();
                Some(Todo { text, state })
            })
            .ok_or(Refusal::Borrowed("an entry without `[x]`, `[>]` or `[ ]`"))
    };
    text.split('|').map(todo).collect()
}

/// The steps about tools.
fn tool(verb: &str, words: &mut Words<'_>) -> Result<Option<Vec<Step>>, Refusal> {
    let steps = match verb {
        "shell" => vec![Step::Tell(Act::ToolBegins(shell(words)?))],
        "start" => vec![Step::Start(shell(words)?)],
        "finish" => vec![Step::Finish(words.next()?.to_owned())],
        "run" => {
            let call = shell(words)?;
            let id = call.id.clone();
            vec![Step::Start(call), Step::Finish(id)]
        }
        "ask" => vec![Step::Ask(shell(words)?)],
        "save" => {
            let (id, path) = (words.next()?.to_owned(), words.next()?.to_owned());
            let work = Work::Write { path, content: text(words.rest())? };
            vec![Step::Save(Call { id, work })]
        }
        "shell-done" => {
            let id = words.next()?.to_owned();
            let code = number(words.next()?)?;
            let took = duration(words.next()?)?;
            // What the end repeats of the beginning is not known here; this is the usual.
            let timeout = Some(std::time::Duration::from_secs(30));
            let work = Work::Shell { command: words.rest().to_owned(), timeout };
            let ending =
                Ending::Exited { code, stdout: String::new(), stderr: String::new(), took };
            vec![Step::Tell(Act::ToolEnds(Call { id, work }, ending))]
        }
        "shell-background" => {
            let (id, command) = (words.next()?.to_owned(), words.rest().to_owned());
            vec![Step::Tell(Act::Cursor(CursorAct::ShellInBackground { id, command }))]
        }
        "tool" => {
            let (id, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
            let args = parse_json(words.rest())?;
            vec![Step::Tell(Act::Cursor(CursorAct::ToolBegins { id, kind, args }))]
        }
        "tool-done" => {
            let (id, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
            let result = parse_json(words.rest())?;
            vec![Step::Tell(Act::Cursor(CursorAct::ToolEnds { id, kind, result }))]
        }
        _ => return named_tool(verb, words),
    };
    Ok(Some(steps))
}

fn shell(words: &mut Words<'_>) -> Result<Call, Refusal> {
    let id = words.next()?.to_owned();
    let timeout = timeout(words.next()?)?;
    Ok(Call { id, work: Work::Shell { command: words.rest().to_owned(), timeout } })
}

/// The tools that have a step of their own, each with its `-done`.
fn named_tool(verb: &str, words: &mut Words<'_>) -> Result<Option<Vec<Step>>, Refusal> {
    let name = verb.strip_suffix("-done").unwrap_or(verb);
    if !matches!(name, "read" | "edit" | "write" | "mcp" | "task") {
        return Ok(None);
    }
    let id = words.next()?.to_owned();
    let work = match name {
        "read" => Work::Read { path: words.rest().to_owned() },
        "edit" => Work::Write { path: words.rest().to_owned(), content: FILE.to_owned() },
        "write" => {
            let path = words.next()?.to_owned();
            Work::Write { path, content: text(words.rest())? }
        }
        "mcp" => Work::Mcp { server: words.next()?.to_owned(), tool: words.next()?.to_owned() },
        _ => Work::Task { description: words.rest().to_owned() },
    };
    let call = Call { id, work };
    let act = if name == verb { Act::ToolBegins(call) } else { Act::ToolEnds(call, Ending::Well) };
    Ok(Some(vec![Step::Tell(act)]))
}

fn parse_json(text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(text).map_err(|_| "not JSON".into())
}
