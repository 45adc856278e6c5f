//! The arguments that a real agent would be given, as far as they matter to a fake one.
//!
//! Owns what each program calls its session, its model and its prompt, and how it is told to talk
//! both ways. Everything else is accepted and ignored, as a script needs no settings.

use stablehand_core::Dialect;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a command line asks of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Native {
    /// The session to resume.
    pub resume: Option<String>,
    /// The id for a new session.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where to work.
    pub cwd: Option<PathBuf>,
    /// The prompt, where it is an argument.
    pub prompt: Option<String>,
    /// Text as it is made.
    pub partial: bool,
    /// Thinking is shown.
    pub thinking: bool,
    /// Prompts come by standard input, one after the other.
    pub two_way: bool,
    /// Questions go to whoever started it.
    pub asks: bool,
    /// Only the version is wanted.
    pub version: bool,
    /// Settings, each a file or JSON: hooks may stand in them.
    pub settings: Vec<String>,
}

/// Long options of any of the programs that take a value, beside those that are read: what follows
/// them is no prompt. Short ones mean something else in each program.
const WITH_VALUE: &[&str] = &[
    "--output-format",
    "--input-format",
    "--permission-mode",
    "--permission-prompt-tool",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--mcp-config",
    "--append-system-prompt",
    "--system-prompt",
    "--max-turns",
    "--add-dir",
    "--settings",
    "--fallback-model",
    "--approval-mode",
    "--include-directories",
    "--mode",
    "--api-key",
    "--header",
    "--config",
    "--profile",
    "--sandbox",
    "--ask-for-approval",
    "--output-last-message",
    "--output-schema",
    "--color",
    "--enable",
    "--disable",
    "--image",
    "--format",
    "--agent",
    "--title",
    "--file",
    "--port",
    "--variant",
];

/// The options of one program that take a value and are read, or are short.
fn own_with_value(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Cursor => &["--resume", "--model", "-m", "--workspace", "-H"],
        Dialect::Claude => &["--resume", "-r", "--session-id", "--model"],
        Dialect::Codex | Dialect::CodexApp => {
            &["--model", "-m", "--cd", "-C", "-c", "-a", "-s", "-p", "-o", "-i"]
        }
        Dialect::OpenCode => &["--session", "-s", "--model", "-m", "--dir", "-f"],
        Dialect::Grok => &[
            "--session-id",
            "--resume",
            "-r",
            "--model",
            "-m",
            "-p",
            "--single",
            "--prompt-file",
            "--allow",
        ],
        Dialect::Agy => &["--conversation", "--model", "-p", "--print-timeout", "--log-file"],
        _ => &["--resume", "-r", "--session-id", "--model", "-m", "--prompt", "-p", "-i", "-o"],
    }
}

impl Native {
    /// Reads the arguments of a program that speaks `dialect`, without the program itself.
    pub fn read(dialect: Dialect, arguments: &[OsString]) -> Native {
        let mut native = Native { thinking: dialect != Dialect::OpenCode, ..Native::default() };
        let mut plain = Vec::new();
        let mut arguments =
            arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).peekable();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                plain.extend(arguments);
                break;
            }
            if !argument.starts_with('-') || argument == "-" {
                plain.push(argument);
                continue;
            }
            let (name, mut value) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            if value.is_none() && Native::wants_value(dialect, &name) {
                // A session to resume may be left to the agent.
                let is_left = |next: &String| name == "--resume" && next.starts_with('-');
                if !arguments.peek().is_some_and(is_left) {
                    value = arguments.next();
                }
            }
            native.option(dialect, &name, value);
        }
        native.take_plain(dialect, plain);
        native
    }

    fn wants_value(dialect: Dialect, name: &str) -> bool {
        // Gemini's sandbox is a switch.
        let is_switch = dialect == Dialect::Gemini && name == "--sandbox";
        own_with_value(dialect).contains(&name) || (WITH_VALUE.contains(&name) && !is_switch)
    }

    fn option(&mut self, dialect: Dialect, name: &str, value: Option<String>) {
        // Elsewhere `-p` is a switch, or something else.
        let has_prompt = matches!(
            dialect,
            Dialect::Gemini | Dialect::Qwen | Dialect::Copilot | Dialect::Grok | Dialect::Agy
        );
        match name {
            "--resume" | "-r" => self.resume = value,
            "--session" | "-s" if dialect == Dialect::OpenCode => self.resume = value,
            "--conversation" if dialect == Dialect::Agy => self.resume = value,
            "--single" if dialect == Dialect::Grok => self.prompt = value,
            "--session-id" => self.session = value,
            "--model" | "-m" => self.model = value,
            "--workspace" | "--cd" | "-C" | "--dir" => self.cwd = value.map(Into::into),
            "--prompt" | "-p" if has_prompt => self.prompt = value,
            "--include-partial-messages" | "--stream-partial-output" => self.partial = true,
            "--thinking" => self.thinking = true,
            "--settings" => self.settings.extend(value),
            "--input-format" => self.two_way = value.as_deref() == Some("stream-json"),
            "--permission-prompt-tool" => self.asks = value.as_deref() == Some("stdio"),
            "--version" | "-v" | "-V" => self.version = true,
            _ => {}
        }
    }

    /// What is no option: words of the program, then the prompt.
    fn take_plain(&mut self, dialect: Dialect, plain: Vec<String>) {
        let mut words = plain.into_iter().peekable();
        match dialect {
            Dialect::Codex | Dialect::CodexApp => {
                if words.next_if_eq("app-server").is_some() {
                    self.two_way = true;
                    self.asks = true;
                    return;
                }
                words.next_if_eq("exec");
                if words.next_if_eq("resume").is_some() {
                    self.resume = words.next();
                }
            }
            Dialect::OpenCode => {
                words.next_if_eq("run");
            }
            Dialect::Acp => {
                self.two_way = true;
                self.asks = true;
                return;
            }
            _ => {}
        }
        // A lone dash is standard input.
        let rest: Vec<String> = words.filter(|word| word != "-").collect();
        if self.prompt.is_none() && !rest.is_empty() {
            self.prompt = Some(rest.join(" "));
        }
    }
}

/// The dialect that is really spoken: `codex app-server` is Codex's other one, and several can be had
/// to speak the Agent Client Protocol.
pub fn spoken(dialect: Dialect, arguments: &[OsString]) -> Dialect {
    let first = arguments.first().and_then(|first| first.to_str()).unwrap_or_default();
    match (dialect, first) {
        (Dialect::Codex, "app-server") => Dialect::CodexApp,
        (Dialect::Cursor | Dialect::OpenCode, "acp")
        | (Dialect::Gemini | Dialect::Qwen, "--acp")
        | (Dialect::Qwen, "--experimental-acp")
        | (Dialect::Grok, "agent") => Dialect::Acp,
        _ => dialect,
    }
}

/// The id of a new session, in the form that the dialect has.
pub fn new_session(dialect: Dialect, unique: &str) -> String {
    match dialect {
        Dialect::OpenCode => {
            let word: String = unique.chars().filter(char::is_ascii_alphanumeric).collect();
            format!("ses_{word}")
        }
        _ => unique.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, line: &str) -> Native {
        let arguments: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        Native::read(dialect, &arguments)
    }

    #[test]
    fn each_program_names_session_model_and_prompt_in_its_own_way() {
        let table = [
            (
                Dialect::Cursor,
                "--print --output-format stream-json --resume s1 --force --model m --workspace /w feed",
            ),
            (
                Dialect::Claude,
                "-p --output-format stream-json --verbose --resume s1 --model m feed",
            ),
            (Dialect::Codex, "exec --json --skip-git-repo-check --model m resume s1 feed"),
            (Dialect::Gemini, "--output-format stream-json --resume=s1 --model m --yolo -p feed"),
            (Dialect::OpenCode, "run --format json --session s1 --model m feed"),
            (
                Dialect::Grok,
                "--output-format streaming-json --resume s1 -m m --always-approve -p feed",
            ),
            (Dialect::Agy, "--print-timeout 8760h --conversation s1 --model m -p feed"),
        ];
        for (dialect, line) in table {
            let native = read(dialect, line);
            assert_eq!(native.resume.as_deref(), Some("s1"), "{line}");
            assert_eq!(native.model.as_deref(), Some("m"), "{line}");
            assert_eq!(native.prompt.as_deref(), Some("feed"), "{line}");
            assert!(!native.two_way, "{line}");
        }
        assert_eq!(read(Dialect::Cursor, "--workspace /w").cwd, Some("/w".into()));
    }

    #[test]
    fn what_reads_standard_input_has_no_prompt() {
        for (dialect, line) in [
            (Dialect::Codex, "exec --json --skip-git-repo-check -"),
            (Dialect::Claude, "-p --output-format stream-json --verbose"),
            (Dialect::Cursor, "--print --output-format stream-json"),
            (Dialect::Gemini, "--output-format stream-json --approval-mode yolo"),
            (Dialect::OpenCode, "run --format json"),
            (Dialect::Grok, "--output-format streaming-json --prompt-file /dev/stdin"),
        ] {
            assert_eq!(read(dialect, line).prompt, None, "{line}");
        }
    }

    #[test]
    fn a_switch_of_one_program_takes_no_word_of_the_prompt() {
        for (dialect, line) in [
            (Dialect::Cursor, "-p -f feed"),
            (Dialect::Cursor, "--resume -p feed"),
            (Dialect::Claude, "-c -p feed"),
            (Dialect::Codex, "exec -c model=x -s read-only feed"),
            (Dialect::Gemini, "--sandbox feed"),
            (Dialect::OpenCode, "run -c feed"),
        ] {
            assert_eq!(read(dialect, line).prompt.as_deref(), Some("feed"), "{line}");
        }
    }

    #[test]
    fn two_way_is_asked_for() {
        let native = read(
            Dialect::Claude,
            "-p --input-format stream-json --output-format stream-json --permission-prompt-tool stdio --include-partial-messages",
        );
        assert!(native.two_way && native.asks && native.partial && native.prompt.is_none());
        let server: Vec<OsString> = vec!["app-server".into()];
        assert_eq!(spoken(Dialect::Codex, &server), Dialect::CodexApp);
        assert!(Native::read(Dialect::CodexApp, &server).two_way);
        assert_eq!(spoken(Dialect::Claude, &server), Dialect::Claude);
        let acp: Vec<OsString> = vec!["acp".into()];
        assert_eq!(spoken(Dialect::OpenCode, &acp), Dialect::Acp);
        assert_eq!(spoken(Dialect::Gemini, &["--acp".into()]), Dialect::Acp);
        let native = Native::read(Dialect::Acp, &acp);
        assert!(native.two_way && native.asks && native.prompt.is_none());
        assert!(read(Dialect::Claude, "--version").version);
    }
}
