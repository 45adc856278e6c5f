//! What the fake model says and does: scenes, as values that know no protocol.
//!
//! Owns the table of scenes. A scene is a list of turns; the n-th answer to a prompt is the n-th turn,
//! and the last one repeats. How a turn looks on the wire belongs to the protocols, and which turn it
//! is to [`super::conversation`].

use std::fmt::Write as _;
use std::time::Duration;

/// A named behaviour of the model.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its name in the path.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// Its answers to one prompt, in order.
    pub turns: Vec<Turn>,
}

/// One answer of the model.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Reasoning before the text.
    pub thinking: Option<&'static str>,
    /// The text.
    pub text: Text,
    /// Tools that it asks for after the text.
    pub wishes: Vec<Wish>,
    /// The wait before each piece of the text but the first.
    pub pause: Duration,
    /// What goes wrong.
    pub fault: Option<Fault>,
}

/// The text of a turn.
#[derive(Debug, Clone)]
pub enum Text {
    /// Always the same, in pieces of so many characters.
    Said {
        /// All of it.
        whole: String,
        /// Characters in a piece.
        piece_chars: usize,
    },
    /// The SHA-256 and the length in bytes of the prompt, see [`super::echo_of`].
    Echo,
}

/// Small enough that a sentence comes in several pieces.
const PIECE_CHARS: usize = 12;

impl Default for Text {
    fn default() -> Text {
        Text::from("")
    }
}

impl From<&str> for Text {
    fn from(whole: &str) -> Text {
        Text::Said { whole: whole.to_owned(), piece_chars: PIECE_CHARS }
    }
}

/// A tool that the model wants, in no agent's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Run a command in a shell.
    Shell(&'static str),
    /// The same in the background.
    ShellInBackground(&'static str),
    /// Write a file at the absolute path that is the last word of the prompt.
    WriteFile(&'static str),
    /// Write a file of this name in the folder whose absolute path is the last word of the prompt.
    WriteInFolder {
        /// The name of the file.
        name: &'static str,
        /// What is written.
        content: &'static str,
    },
    /// Have another agent do a task; that one, which is asked for the same, runs a command.
    Delegate {
        /// What the other agent is told.
        task: &'static str,
        /// What it runs.
        command: &'static str,
        /// Whether the first agent ends its turn meanwhile.
        background: bool,
    },
    /// A tool that no agent has.
    Unknown(&'static str),
}

/// What goes wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This HTTP status, in the error shape of the protocol.
    Status(u16),
    /// That fault, but only for the first so many requests of the scene; then the next turn is given.
    FirstRequests {
        /// How many fail.
        count: usize,
        /// How they fail.
        fault: &'static Fault,
    },
    /// Not even headers come.
    StallBeforeHeaders,
    /// Half of the text comes, then nothing.
    StallMidway,
    /// Half of the text comes, then the connection ends.
    CutMidway,
}

/// What `hello` says.
pub const HELLO: &str = "Hello from the fake model.";
/// What `unicode` says: emoji, joined emoji, right-to-left, both line separators, beyond the first
/// plane, combining marks, quotes, tabs and newlines.
pub const UNICODE: &str = "Zażółć 😀 👩‍👩‍👧 שלום مرحبا line\u{2028}sep\u{2029}para 𝔘𝔫𝔦 e\u{301} \
                           \"quote\" \\ back\n\ttab 漢字 end.";
/// The command of `shell`; it cannot be guessed from the prompt.
pub const SHELL_COMMAND: &str = "echo neigh; echo whinny >&2";
/// The commands of `parallel`.
pub const PARALLEL_COMMANDS: [&str; 2] = ["echo trot", "echo gallop"];
/// The command of `failing-tool`.
pub const FAILING_COMMAND: &str = "echo no hay >&2; exit 3";
/// The command of `long-tool`. Claude Code refuses a plain `sleep`.
pub const LONG_COMMAND: &str = "python3 -c \"import time; time.sleep(300)\"";
/// The command of `background`: it ends at once and leaves a child that does not.
pub const BACKGROUND_COMMAND: &str =
    "nohup python3 -c \"import time; time.sleep(300)\" >/dev/null 2>&1 & echo started";
/// What `thinking` thinks.
pub const THOUGHT: &str = "Oats or hay? Hay.";
/// What `write-file` writes.
pub const WRITTEN: &str = "oats\nhay\n";
/// The commands of `chores`, each in a turn of its own; then come its files.
pub const CHORES: [&str; 2] = ["touch mucked-out", "touch groomed"];
/// The files that `chores` writes, with [`WRITTEN`] in them.
pub const CHORE_FILES: [&str; 2] = ["secret.txt", "list.txt"];
/// The command of `slow-chore`.
pub const SLOW_CHORE: &str = "touch mucked-out";
/// What `delegate` has another agent do.
pub const TASK: &str = "Feed the ponies, please.";
/// The command that does it.
pub const TASK_COMMAND: &str = "echo fed";
/// The command of `delegate-background`: longer than any agent gets to exit after its result.
pub const LONG_TASK_COMMAND: &str = "python3 -c \"import time; time.sleep(8)\"; touch fed";
/// The last text of each scene with tools.
pub const TOOLS_DONE: &str = "The tools are done.";
/// How many lines `long` has.
const LONG_LINES: usize = 4_000;

/// What `long` says: about 200 KB.
pub fn long_text() -> String {
    (0..LONG_LINES).fold(String::new(), |mut text, line| {
        let _infallible =
            writeln!(text, "{line:06} The quick brown pony jumps over the lazy groom.");
        text
    })
}

fn saying(text: &str) -> Turn {
    Turn { text: text.into(), ..Turn::default() }
}

fn wishing(text: &str, wishes: Vec<Wish>) -> Vec<Turn> {
    vec![Turn { wishes, ..saying(text) }, saying(TOOLS_DONE)]
}

fn failing(fault: Fault) -> Turn {
    Turn { fault: Some(fault), ..saying("This answer is begun and never ended, as it seems.") }
}

/// One tool after the other, so that what became of each is in the request for the next.
fn chores() -> Vec<Turn> {
    let commands = CHORES.map(Wish::Shell);
    let files = CHORE_FILES.map(|name| Wish::WriteInFolder { name, content: WRITTEN });
    let wishes = commands.into_iter().chain(files);
    let turns = wishes.map(|wish| Turn { wishes: vec![wish], ..saying("The next chore.") });
    turns.chain([saying(TOOLS_DONE)]).collect()
}

impl Scene {
    /// The scene of that name.
    pub fn by_name(name: &str) -> Option<Scene> {
        Scene::all().into_iter().find(|scene| scene.name == name)
    }

    /// The turn after so many rounds of tools.
    pub fn turn(&self, rounds: usize) -> Turn {
        self.turns.get(rounds).or(self.turns.last()).cloned().unwrap_or_default()
    }

    /// Every scene.
    pub fn all() -> Vec<Scene> {
        let scene = |name, about, turns| Scene { name, about, turns };
        let status = |code| vec![failing(Fault::Status(code))];
        let said = |text: &str, piece_chars| Text::Said { whole: text.to_owned(), piece_chars };
        vec![
            scene("hello", "a sentence", vec![saying(HELLO)]),
            scene(
                "unicode",
                "a sentence of difficult characters, in small pieces",
                vec![Turn { text: said(UNICODE, 3), ..Turn::default() }],
            ),
            scene(
                "thinking",
                "reasoning, then a sentence",
                vec![Turn { thinking: Some(THOUGHT), ..saying("Hay it is.") }],
            ),
            scene(
                "shell",
                "one command, then a sentence",
                wishing("I run a command.", vec![Wish::Shell(SHELL_COMMAND)]),
            ),
            scene(
                "parallel",
                "two commands in one answer, then a sentence",
                wishing("Two at once.", PARALLEL_COMMANDS.map(Wish::Shell).into()),
            ),
            scene(
                "failing-tool",
                "a command that exits with 3, then a sentence",
                wishing("This fails.", vec![Wish::Shell(FAILING_COMMAND)]),
            ),
            scene(
                "long-tool",
                "a command of five minutes, then a sentence",
                wishing("This takes a while.", vec![Wish::Shell(LONG_COMMAND)]),
            ),
            scene(
                "background",
                "a command that leaves a child running for five minutes, then a sentence",
                wishing("I start something.", vec![Wish::Shell(BACKGROUND_COMMAND)]),
            ),
            scene(
                "write-file",
                "writes to the absolute path that is the last word of the prompt, then a sentence",
                wishing("I write a file.", vec![Wish::WriteFile(WRITTEN)]),
            ),
            scene("chores", "two commands and two files in the folder of the prompt", chores()),
            scene(
                "delegate",
                "another agent runs a command, then a sentence",
                wishing(
                    "Somebody else can do it.",
                    vec![Wish::Delegate { task: TASK, command: TASK_COMMAND, background: false }],
                ),
            ),
            scene(
                "delegate-background",
                "another agent runs a command of eight seconds in the background, and there is a \
                 sentence before and one after its end",
                wishing(
                    "Somebody else can do it.",
                    vec![Wish::Delegate {
                        task: TASK,
                        command: LONG_TASK_COMMAND,
                        background: true,
                    }],
                ),
            ),
            scene(
                "shell-background",
                "a command of eight seconds in the background, and there is a sentence before and one \
                 after its end",
                wishing("It takes a while.", vec![Wish::ShellInBackground(LONG_TASK_COMMAND)]),
            ),
            scene(
                "slow-chore",
                "a sentence of three seconds, a command, then a sentence",
                vec![
                    Turn {
                        pause: Duration::from_millis(500),
                        wishes: vec![Wish::Shell(SLOW_CHORE)],
                        ..saying("I think about it for a while, and then I muck out the stable.")
                    },
                    saying(TOOLS_DONE),
                ],
            ),
            scene(
                "bad-tool",
                "a tool that does not exist, then a sentence",
                wishing("I call nobody.", vec![Wish::Unknown("no_such_tool")]),
            ),
            scene(
                "slow",
                "a sentence in pieces, half a second between them",
                vec![Turn {
                    pause: Duration::from_millis(500),
                    ..saying("This answer comes slowly, a few characters at a time.")
                }],
            ),
            scene(
                "long",
                "about 200 KB of text",
                vec![Turn { text: said(&long_text(), 400), ..Turn::default() }],
            ),
            scene(
                "echo",
                "the SHA-256 and the length of the prompt",
                vec![Turn { text: Text::Echo, ..Turn::default() }],
            ),
            scene("stall", "half an answer, then silence", vec![failing(Fault::StallMidway)]),
            scene(
                "stall-headers",
                "silence from the beginning",
                vec![failing(Fault::StallBeforeHeaders)],
            ),
            scene(
                "cut",
                "half an answer, then the connection ends",
                vec![failing(Fault::CutMidway)],
            ),
            scene("400", "bad request", status(400)),
            scene("401", "no such key", status(401)),
            scene("429", "too many requests", status(429)),
            scene("500", "internal error", status(500)),
            scene("529", "overloaded", status(529)),
            scene(
                "flaky",
                "two internal errors, then a sentence",
                vec![
                    failing(Fault::FirstRequests { count: 2, fault: &Fault::Status(500) }),
                    saying(HELLO),
                ],
            ),
            scene(
                "stall-once",
                "half an answer, then silence; at the next request a sentence",
                vec![
                    failing(Fault::FirstRequests { count: 1, fault: &Fault::StallMidway }),
                    saying(HELLO),
                ],
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_fit_into_a_path() {
        let scenes = Scene::all();
        let names: BTreeSet<&str> = scenes.iter().map(|scene| scene.name).collect();
        assert_eq!(names.len(), scenes.len());
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(fits)), "{names:?}");
        assert!(scenes.iter().all(|scene| !scene.turns.is_empty()));
    }

    #[test]
    fn the_last_turn_repeats() {
        let shell = Scene::by_name("shell").unwrap();
        assert_eq!(shell.turn(0).wishes, [Wish::Shell(SHELL_COMMAND)]);
        for rounds in [1, 2, 9] {
            assert!(shell.turn(rounds).wishes.is_empty());
        }
        assert!(long_text().len() > 200_000);
    }
}
