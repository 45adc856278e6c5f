//! How each agent is started: one row and one file per agent.
//!
//! Owns the table and what is common to all rows. It starts nothing; a [`Plan`] is a value that
//! `--dry-run` prints and the keeper carries out. How an agent is *read* is its dialect in
//! `stablehand_core::decode`.

mod agy;
mod by_command;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod demo;
mod gemini;
mod grok;
mod mcp;
mod opencode;
mod plan;
mod qwen;
mod terminal;
mod variables;

pub use by_command::{BY_COMMAND, ByCommand};
pub use plan::{
    Form, Mode, NON_INTERACTIVE, Plan, PlanError, PlanRequest, redacted, secret_values,
};
pub use terminal::{NOT_AT_TERMINAL, TERMINAL_ENV, TerminalForm};
pub use variables::is_agents_own;

use crate::hooks::HookForm;
use crate::keeper::{Launch, Transport};
use crate::manage::{AgentHomes, Capabilities, Place, Recipes};
use plan::PromptBy;
use stablehand_core::Dialect;
use stablehand_core::event::FailureKind;
use stablehand_core::hook::Hooks;
use stablehand_core::mcp::McpTakes;
use stablehand_core::monitor::Limits;
use stablehand_core::wish::Services;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One agent that we know how to run: a row of the table.
#[derive(Debug)]
pub struct Row {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its programs, in the order in which PATH is searched for them; none is built in. One of two words
    /// is another program that starts it by a subcommand.
    pub programs: &'static [&'static str],
    /// How its output is read.
    pub dialect: Dialect,
    /// The arguments of a run of one turn, without the prompt. None speaks nothing but the Agent Client
    /// Protocol.
    arguments: Option<fn(&PlanRequest) -> Vec<OsString>>,
    /// How it gets the prompt of such a run.
    prompt: PromptBy,
    /// Its own words for our modes. An agent without a word for one refuses it.
    modes: &'static [(Mode, &'static [&'static str])],
    /// How it is told where to work.
    workspace: Workspace,
    /// Variables that it needs set, or must not inherit.
    env: &'static [(&'static str, Option<&'static str>)],
    /// How one process takes many turns, where it can.
    pub two_way: Option<TwoWay>,
    /// How it speaks the Agent Client Protocol, where it does.
    pub acp: Option<AcpForm>,
    /// When its stream tells of a tool.
    pub tools: ToolsSeen,
    /// What its exit codes mean, where they mean something that its stream does not say.
    pub exit_codes: &'static [ExitMeaning],
    /// What it needs of the limits that nobody chose.
    limits: fn(&mut Limits),
    /// What it can do in a run.
    pub can: Capabilities,
    /// How it is asked about everything else.
    pub manage: Recipes,
    /// How its hooks are written down, where it has some that we know.
    pub hooks: Option<HookForm>,
    /// Where it keeps the transcripts of its own sessions, as far as we can read them.
    pub history: &'static [Place],
    /// How it is used at a terminal, where it can be.
    pub terminal: Option<TerminalForm>,
}

impl Row {
    /// Whether it has no program of its own, being part of ours.
    pub fn is_built_in(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether it speaks the Agent Client Protocol and nothing else that we can read.
    pub fn speaks_only_acp(&self) -> bool {
        self.arguments.is_none()
    }
}

/// How one process takes many turns.
#[derive(Debug)]
pub struct TwoWay {
    /// What is spoken then, in both directions.
    pub dialect: Dialect,
    /// The arguments.
    arguments: fn(&PlanRequest) -> Vec<OsString>,
    /// Whether prompts may come with images.
    images: bool,
    /// Which servers of tools it can be given for a session.
    mcp: McpTakes,
    /// Which tools it asks about.
    asks: Asks,
}

/// How an agent is had to speak the Agent Client Protocol.
#[derive(Debug)]
pub struct AcpForm {
    /// Its programs for that, in the order in which PATH is searched for them; see [`Row::programs`].
    pub programs: &'static [&'static str],
    /// The command that installs them, where that of the agent does not.
    pub install: Option<&'static str>,
    /// The arguments, before those that somebody adds.
    arguments: &'static [&'static str],
    /// Its own word for how it logs in, where a variable is set by which it can.
    logins: &'static [(&'static str, &'static str)],
    /// What we offer to do for it.
    offers: Services,
    /// Which tools it asks about.
    asks: Asks,
}

/// Which tools an agent asks permission for before it runs them: whether a policy can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Every tool, because we can tell it to.
    Everything,
    /// Every tool that it does not take for harmless. In the Agent Client Protocol the other tools
    /// are judged when they are over.
    Changes,
    /// The same in a mode that keeps it from changing anything by itself (`plan`, `ask`). In others
    /// its own sandbox decides, and lets it change the workspace without asking.
    ChangesWhenConfined,
    /// Nothing, as it is installed: it runs commands or changes files without asking.
    TooLittle,
    /// Nobody knows, because it is an agent by its command line. Treated like [`Asks::Changes`].
    Unknown,
}

/// When an agent's stream tells of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolsSeen {
    /// When it begins and when it ends.
    BeginningAndEnd,
    /// Only when it is over: a silence may be a tool at work, so silence is judged like one.
    AfterTheFact,
}

/// What an exit code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitMeaning {
    /// The code.
    pub code: i32,
    /// What kind of failure it is.
    pub failure: FailureKind,
    /// For a person: what it means, and what to do.
    pub text: &'static str,
}

/// How an agent is told where to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workspace {
    /// By the value of this option.
    Option(&'static str),
    /// By being started there.
    StartedThere,
}

/// Makes the enumeration and the table of the same lines.
macro_rules! agents {
    ($($(#[$doc:meta])* $agent:ident => $file:ident,)*) => {
        /// An agent that we know how to run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Agent {
            $($(#[$doc])* $agent,)*
            /// Any other that speaks the Agent Client Protocol, by its command line.
            ByCommand(ByCommand),
        }

        impl Agent {
            /// Every agent that has a row of its own.
            pub const ALL: &'static [Agent] = &[$(Agent::$agent),*];

            /// Its row of the table.
            pub fn row(self) -> &'static Row {
                match self {
                    $(Agent::$agent => &$file::ROW,)*
                    Agent::ByCommand(made) => made.row(),
                }
            }
        }
    };
}

agents! {
    /// Cursor's `cursor-agent`.
    Cursor => cursor,
    /// Anthropic's Claude Code.
    Claude => claude,
    /// The Codex CLI.
    Codex => codex,
    /// Google's Gemini CLI.
    Gemini => gemini,
    /// OpenCode.
    OpenCode => opencode,
    /// Qwen Code.
    Qwen => qwen,
    /// GitHub's Copilot CLI.
    Copilot => copilot,
    /// Grok CLI.
    Grok => grok,
    /// Google's Antigravity CLI.
    Agy => agy,
    /// The built-in agent, which needs no account.
    Demo => demo,
}

impl Agent {
    /// The agent of a command that names none.
    pub const DEFAULT: Agent = Agent::Cursor;

    /// Returns the agent that is part of our own program and needs no account.
    pub fn built_in() -> Option<Agent> {
        Self::ALL.iter().copied().find(|agent| agent.row().is_built_in())
    }

    /// The agent of that name; `acp:` and a command line is one, too ([`Agent::by_command`]).
    pub fn by_name(name: &str) -> Option<Agent> {
        if let Some(line) = name.strip_prefix(BY_COMMAND) {
            return Agent::by_command(line).ok();
        }
        Self::ALL.iter().copied().find(|agent| agent.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The folders in which it keeps the transcripts of its own sessions, whether they are there or
    /// not.
    pub fn transcript_folders(self, around: &AgentHomes) -> Vec<PathBuf> {
        self.row().history.iter().filter_map(|place| place.path(around)).collect()
    }

    /// Returns the folder that a command line of this agent names as its workspace; nothing where it is
    /// told by the folder that it is started in.
    pub fn workspace_in(self, argv: &[String]) -> Option<&str> {
        let Workspace::Option(option) = self.row().workspace else { return None };
        let mut rest = argv.iter().skip_while(|word| *word != option).skip(1);
        rest.next().map(String::as_str)
    }

    /// Its program on a search path, given as the value of PATH.
    pub fn find(self, path: Option<&OsStr>, form: Form) -> Result<PathBuf, PlanError> {
        let find = |name: &&'static str| {
            // As a shell does it: a path is no name to look for.
            let path_itself = name.contains('/').then(|| PathBuf::from(name));
            path_itself.map_or_else(
                || on_path(path, self.launcher(name).map_or(name, |(launcher, _)| launcher)),
                |it| Some(it).filter(|it| is_executable(it)),
            )
        };
        self.programs(form).iter().find_map(find).ok_or_else(|| self.not_found(form))
    }

    /// Returns the error for an agent that is not installed.
    pub fn not_found(self, form: Form) -> PlanError {
        PlanError::NotFound {
            agent: self.name(),
            looked_for: self.programs(form).join(", "),
            install: self.install(form),
        }
    }

    /// Returns the command that installs its program.
    pub fn install(self, form: Form) -> &'static str {
        let row = self.row();
        let by_acp = row.acp.as_ref().filter(|_| form == Form::Acp).and_then(|acp| acp.install);
        by_acp.unwrap_or(row.manage.install)
    }

    fn programs(self, form: Form) -> &'static [&'static str] {
        match (form, &self.row().acp) {
            (Form::Acp, Some(acp)) => acp.programs,
            _ => self.row().programs,
        }
    }

    /// Splits the name of a program that starts the agent by a subcommand. The command line of an agent
    /// that has no row is split already.
    fn launcher(self, name: &'static str) -> Option<(&'static str, &'static str)> {
        if matches!(self, Agent::ByCommand(_)) { None } else { name.split_once(' ') }
    }

    /// Returns the arguments with which a program becomes the agent: the subcommand, where the program
    /// is one that starts the agent by it.
    fn lead(self, program: &Path) -> Vec<OsString> {
        let name = program.file_name();
        let launchers = self.row().programs.iter().filter_map(|name| self.launcher(name));
        let lead = launchers.into_iter().find(|(launcher, _)| name == Some(OsStr::new(launcher)));
        lead.map(|(_, subcommand)| subcommand.into()).into_iter().collect()
    }

    /// How it logs in by what is set, in its own word, where it wants that said.
    pub fn login(self, is_set: impl Fn(&str) -> bool) -> Option<&'static str> {
        let logins = self.row().acp.as_ref()?.logins;
        logins.iter().find(|(variable, _)| is_set(variable)).map(|(_, method)| *method)
    }

    /// Which tools it asks about; nothing where it cannot ask at all. A run of one turn becomes a
    /// conversation where a policy holds it.
    pub fn asks(self, form: Form) -> Option<Asks> {
        match form {
            Form::OneTurn | Form::TwoWay => self.row().two_way.as_ref().map(|way| way.asks),
            Form::Acp => self.row().acp.as_ref().map(|acp| acp.asks),
        }
    }

    /// Returns true if a policy can hold the agent without hooks.
    pub fn can_be_held(self, form: Form, mode: Option<Mode>) -> bool {
        match self.asks(form) {
            Some(Asks::Everything | Asks::Changes | Asks::Unknown) => true,
            Some(Asks::ChangesWhenConfined) => matches!(mode, Some(Mode::Plan | Mode::Ask)),
            Some(Asks::TooLittle) | None => false,
        }
    }

    /// Whether it can be shown images with a prompt. In the Agent Client Protocol it says so itself
    /// when it is there; every one that we know does, and one that does not is told what it was not
    /// shown.
    pub fn takes_images(self, form: Form) -> bool {
        match form {
            Form::OneTurn => false,
            Form::TwoWay => self.row().two_way.as_ref().is_some_and(|way| way.images),
            Form::Acp => true,
        }
    }

    /// Which servers of tools a face can give it for a session. In the Agent Client Protocol every
    /// agent takes those that it starts, and says only when it is there whether it takes others;
    /// what it does not take is left out and said so.
    pub fn takes_mcp(self, form: Form) -> McpTakes {
        match form {
            Form::OneTurn => McpTakes::NONE,
            Form::TwoWay => self.row().two_way.as_ref().map_or(McpTakes::NONE, |way| way.mcp),
            Form::Acp => McpTakes { stdio: true, ..McpTakes::NONE },
        }
    }

    /// Its program with native arguments, for a question that is not a run.
    pub(crate) fn command(self, program: PathBuf, args: Vec<OsString>) -> Launch {
        let args = self.lead(&program).into_iter().chain(args).collect();
        let env = self.row().env.iter().map(|(name, value)| (name.into(), value.map(Into::into)));
        Launch {
            program,
            args,
            env: env.collect(),
            cwd: None,
            transport: Transport::Pipe,
            release: None,
        }
    }

    /// The dialect that it speaks.
    pub fn dialect(self) -> Dialect {
        self.row().dialect
    }

    /// Its hooks, where it has some that we know.
    pub fn hooks(self) -> Option<&'static dyn Hooks> {
        self.row().dialect.hooks()
    }

    /// The modes that it has.
    pub fn modes(self) -> impl Iterator<Item = Mode> {
        self.row().modes.iter().map(|(mode, _)| *mode)
    }

    /// Limits that nobody chose, as this agent needs them.
    pub fn adjust(self, limits: &mut Limits) {
        (self.row().limits)(limits);
        if self.row().tools == ToolsSeen::AfterTheFact && limits.idle_is_default {
            // A silence may be a command at work.
            limits.idle = limits.idle.max(limits.class.execute);
        }
    }
}

/// A program on a search path, given as the value of PATH.
pub fn on_path(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let mut folders = path.map(std::env::split_paths).into_iter().flatten();
    folders.find_map(|folder| Some(folder.join(name)).filter(|file| is_executable(file)))
}

/// Most agents need nothing of the limits.
fn as_they_are(_: &mut Limits) {}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::Launch;
    use stablehand_core::id::SessionId;

    fn args(agent: &str, request: &PlanRequest) -> Vec<String> {
        let plan = Agent::by_name(agent).unwrap().plan("x".into(), request).unwrap();
        plan.launch.args.iter().map(|a| a.to_str().unwrap().to_owned()).collect()
    }

    /// What is known of each agent, with the reason. A row that changes needs a reason too.
    #[test]
    fn a_policy_holds_agents_that_ask_before_they_change_something() {
        let table: &[(&str, Option<Asks>, Option<Asks>)] = &[
            // In print mode it edits without asking, and nobody has seen it ask in the protocol.
            ("cursor", None, Some(Asks::TooLittle)),
            // In its own protocol it is given settings that make it ask about every tool.
            ("claude", Some(Asks::Everything), Some(Asks::Changes)),
            // Its adapter asks about no command that the sandbox confines.
            ("codex", Some(Asks::Changes), Some(Asks::ChangesWhenConfined)),
            ("gemini", None, Some(Asks::Changes)),
            // Its permissions are `allow` for every tool, unless its own settings say otherwise.
            ("opencode", None, Some(Asks::TooLittle)),
            ("qwen", None, Some(Asks::Changes)),
            ("copilot", None, Some(Asks::Changes)),
            ("grok", None, Some(Asks::Changes)),
            // It denies what it would have to ask about, and nobody can answer it.
            ("agy", None, None),
            ("demo", Some(Asks::Everything), None),
            // By its command line: what is known of the program, else nothing.
            ("acp:pony --acp", None, Some(Asks::Unknown)),
            ("acp:/opt/opencode acp", None, Some(Asks::TooLittle)),
            ("acp:codex-acp", None, Some(Asks::ChangesWhenConfined)),
            ("acp:gemini --acp", None, Some(Asks::Changes)),
        ];
        for (name, own, acp) in table {
            let agent = Agent::by_name(name).unwrap();
            assert_eq!((agent.asks(Form::TwoWay), agent.asks(Form::Acp)), (*own, *acp), "{name}");
            assert_eq!(agent.asks(Form::OneTurn), *own, "{name}");
            let is_confined = *acp == Some(Asks::ChangesWhenConfined);
            let holds = !is_confined && acp.is_some_and(|asks| asks != Asks::TooLittle);
            assert_eq!(agent.can_be_held(Form::Acp, None), holds, "{name}");
            assert_eq!(agent.can_be_held(Form::Acp, Some(Mode::Edit)), holds, "{name}");
            assert_eq!(
                agent.can_be_held(Form::Acp, Some(Mode::Ask)),
                holds || is_confined,
                "{name}"
            );
            assert_eq!(agent.can_be_held(Form::OneTurn, None), own.is_some(), "{name}");
        }
        for agent in Agent::ALL {
            assert!(table.iter().any(|row| row.0 == agent.name()), "{}", agent.name());
        }
    }

    #[test]
    fn cursor_arguments_come_in_the_documented_order() {
        let request = PlanRequest {
            resume: Some(SessionId("s1".into())),
            force: true,
            model: Some("auto".into()),
            workspace: Some("/w".into()),
            extra: vec!["--mode".into(), "plan".into()],
            ..PlanRequest::default()
        };
        let expected = "--print --output-format stream-json --resume s1 --force --model auto \
                        --workspace /w --mode plan";
        assert_eq!(args("cursor", &request).join(" "), expected);
        assert_eq!(
            args("cursor", &PlanRequest::default()),
            ["--print", "--output-format", "stream-json"]
        );
    }

    #[test]
    fn every_agent_is_told_everything_in_its_own_words() {
        let request = PlanRequest {
            resume: Some(SessionId("s1".into())),
            force: true,
            model: Some("m".into()),
            workspace: Some("/w".into()),
            partial_output: true,
            extra: vec!["--more".into()],
            prompt: "feed".into(),
            ..PlanRequest::default()
        };
        let table = [
            (
                "claude",
                "-p --output-format stream-json --verbose --include-partial-messages --resume s1 \
                 --model m --dangerously-skip-permissions --more",
            ),
            (
                "codex",
                "exec --json --skip-git-repo-check --model m \
                 --dangerously-bypass-approvals-and-sandbox --more resume s1 -",
            ),
            ("gemini", "--output-format stream-json --resume s1 --model m --yolo --more"),
            ("opencode", "run --format json --session s1 --model m --thinking --auto --more"),
            (
                "qwen",
                "--output-format stream-json --include-partial-messages --resume s1 --model m \
                 --yolo --more",
            ),
            (
                "grok",
                "--output-format streaming-json --prompt-file /dev/stdin --resume s1 --model m \
                 --always-approve --more",
            ),
            (
                "agy",
                "--output-format stream-json --print-timeout 8760h --conversation s1 --model m \
                 --dangerously-skip-permissions --more -p feed",
            ),
        ];
        for (agent, expected) in table {
            assert_eq!(args(agent, &request).join(" "), expected);
            let plan = Agent::by_name(agent).unwrap().plan("x".into(), &request).unwrap();
            assert_eq!(plan.launch.cwd.as_deref(), Some(Path::new("/w")), "{agent}");
        }
        assert_eq!(
            args("codex", &PlanRequest::default()).join(" "),
            "exec --json --skip-git-repo-check -"
        );
        let acp = PlanRequest { form: Form::Acp, ..PlanRequest::default() };
        assert_eq!(args("qwen", &acp).join(" "), "--acp --approval-mode default");
    }

    #[test]
    fn the_launcher_of_the_editor_starts_the_agent_by_its_subcommand() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let path = Some(folder.path().as_os_str());
        let missing = Agent::Cursor.find(path, Form::OneTurn).unwrap_err();
        assert!(missing.to_string().contains("looked for cursor-agent, agent, cursor agent"));
        let launcher = make("cursor");
        for form in [Form::OneTurn, Form::Acp] {
            assert_eq!(Agent::Cursor.find(path, form).unwrap(), launcher);
            let request = PlanRequest { form, ..PlanRequest::default() };
            let plan = Agent::Cursor.plan(launcher.clone(), &request).unwrap();
            assert_eq!(plan.launch.args[0], "agent", "{form:?}");
        }
        let asked = Agent::Cursor.command(launcher, vec!["models".into()]);
        assert_eq!(asked.args, ["agent", "models"]);
        let own = make("agent");
        assert_eq!(Agent::Cursor.find(path, Form::OneTurn).unwrap(), own);
        assert_eq!(Agent::Cursor.command(own, vec!["models".into()]).args, ["models"]);
    }

    #[test]
    fn an_agent_that_is_missing_is_answered_with_the_command_that_installs_it() {
        let install = |agent: Agent, form| match agent.find(None, form) {
            Err(PlanError::NotFound { install, .. }) => install,
            other => panic!("{other:?}"),
        };
        assert_eq!(install(Agent::Codex, Form::OneTurn), "npm install -g @openai/codex");
        // Its protocol is spoken by another program.
        assert_eq!(install(Agent::Codex, Form::Acp), "npm install -g @zed-industries/codex-acp");
        assert_eq!(install(Agent::Gemini, Form::Acp), "npm install -g @google/gemini-cli");
    }

    #[test]
    fn modes_are_in_the_words_of_the_agent_or_refused() {
        let table = [
            ("cursor", Mode::Plan, Some("--mode plan")),
            ("cursor", Mode::Edit, None),
            ("claude", Mode::Plan, Some("--permission-mode plan")),
            ("claude", Mode::Edit, Some("--permission-mode acceptEdits")),
            ("claude", Mode::Ask, None),
            ("codex", Mode::Ask, Some("--sandbox read-only")),
            ("codex", Mode::Edit, Some("--sandbox workspace-write")),
            ("gemini", Mode::Plan, Some("--approval-mode plan")),
            ("opencode", Mode::Plan, Some("--agent plan")),
            ("qwen", Mode::Edit, Some("--approval-mode auto-edit")),
            ("grok", Mode::Plan, Some("--permission-mode plan")),
            ("grok", Mode::Edit, Some("--permission-mode acceptEdits --allow Edit")),
            ("agy", Mode::Edit, Some("--mode accept-edits")),
            ("agy", Mode::Ask, None),
            ("demo", Mode::Plan, Some("--mode plan")),
            ("demo", Mode::Edit, None),
        ];
        for (agent, mode, expected) in table {
            let request = PlanRequest { mode: Some(mode), ..PlanRequest::default() };
            let plan = Agent::by_name(agent).unwrap().plan("x".into(), &request);
            match (plan, expected) {
                (Ok(_), Some(words)) => {
                    let args = args(agent, &request).join(" ");
                    assert!(args.contains(words), "{agent}: {args}");
                }
                (Err(PlanError::NoSuchMode { .. }), None) => {}
                (plan, expected) => panic!("{agent} {mode:?}: {plan:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn the_workspace_is_read_from_the_command_line_of_agents_that_are_told_it_there() {
        let request = PlanRequest { workspace: Some("/w".into()), ..PlanRequest::default() };
        for agent in Agent::ALL.iter().filter(|agent| !agent.row().speaks_only_acp()) {
            let plan = agent.plan("x".into(), &request).unwrap();
            let argv = redacted(&plan.launch);
            let started_in = plan.launch.cwd.as_deref().and_then(Path::to_str);
            let told = (agent.workspace_in(&argv), started_in);
            assert!(matches!(told, (Some("/w"), None) | (None, Some("/w"))), "{agent:?}: {told:?}");
        }
        // Of an agent that has no such option it is somebody else's word.
        let argv = ["claude", "--workspace", "/w"].map(str::to_owned);
        assert_eq!(Agent::Claude.workspace_in(&argv), None);
        assert_eq!(Agent::Cursor.workspace_in(&argv[..2]), None);
    }

    #[test]
    fn the_latest_session_is_continued_in_the_words_of_the_agent() {
        let request = PlanRequest { continue_latest: true, ..PlanRequest::default() };
        let table = [
            ("cursor", "--continue"),
            ("claude", "--continue"),
            ("codex", "resume --last -"),
            ("gemini", "--resume latest"),
            ("opencode", "--continue"),
            ("qwen", "--continue"),
            ("grok", "--continue"),
            ("agy", "-c"),
        ];
        for (agent, words) in table {
            let args = args(agent, &request).join(" ");
            assert!(args.contains(words), "{agent}: {args}");
        }
    }

    #[test]
    fn who_can_talk_has_a_plan_for_it_and_the_others_say_who_can() {
        let request = PlanRequest { form: Form::TwoWay, force: true, ..PlanRequest::default() };
        assert_eq!(
            args("claude", &request).join(" "),
            "-p --input-format stream-json --permission-prompt-tool stdio \
             --output-format stream-json --verbose --dangerously-skip-permissions"
        );
        assert_eq!(args("codex", &request).join(" "), "app-server");
        let ruled = PlanRequest {
            form: Form::TwoWay,
            asks_always: true,
            extra: vec!["--settings".into(), "mine.json".into()],
            ..PlanRequest::default()
        };
        let ruled = args("claude", &ruled);
        assert_eq!(ruled[ruled.len() - 2], "--settings");
        let settings: serde_json::Value = serde_json::from_str(&ruled[ruled.len() - 1]).unwrap();
        assert!(settings["permissions"]["ask"].as_array().is_some_and(|ask| ask.len() > 10));
        for agent in Agent::ALL {
            match agent.plan("x".into(), &request) {
                Ok(plan) => {
                    assert!(plan.dialect.speaker(&plan.opening.unwrap()).is_some(), "{agent:?}");
                }
                Err(PlanError::NotTwoWay { able, .. }) => assert_eq!(able, "claude, codex, demo"),
                Err(PlanError::OnlyAcp { .. }) => assert!(agent.row().speaks_only_acp()),
                Err(error) => panic!("{agent:?}: {error}"),
            }
        }
    }

    #[test]
    fn silence_of_an_agent_that_hides_its_tools_is_judged_like_a_tool() {
        let mut limits = Limits::modern();
        Agent::OpenCode.adjust(&mut limits);
        assert_eq!(limits.idle, limits.class.execute);
        // What somebody chose stays.
        let mut limits = Limits { idle_is_default: false, ..Limits::modern() };
        let chosen = limits.clone();
        Agent::OpenCode.adjust(&mut limits);
        Agent::Gemini.adjust(&mut limits);
        assert_eq!(limits, chosen);
    }

    #[test]
    fn an_id_that_is_an_option_is_refused() {
        let request =
            PlanRequest { resume: Some(SessionId("--force".into())), ..Default::default() };
        let error = Agent::by_name("cursor").unwrap().plan("x".into(), &request).unwrap_err();
        assert!(error.to_string().contains("--force"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let launch = Launch {
            program: "agent".into(),
            args: ["--api-key", "k1", "--header=Authorization: k2", "-p"]
                .map(OsString::from)
                .into(),
            env: Vec::new(),
            cwd: None,
            transport: Transport::Pipe,
            release: None,
        };
        assert_eq!(secret_values(&launch.args), ["k1", "Authorization: k2", "k2"]);
        let shown = redacted(&launch).join(" ");
        assert!(!shown.contains("k1") && !shown.contains("k2") && shown.ends_with("-p"), "{shown}");
    }
}
