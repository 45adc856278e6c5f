//! The door of `stablehand`.

use crate::acp::AcpArgs;
use crate::decode::DecodeArgs;
use crate::demo;
use crate::env::KEEPER;
use crate::fake::{self, FakeArgs};
use crate::hooks::HooksCommand;
use crate::policy::PolicyArgs;
use crate::run::RunArgs;
use crate::talk::TalkArgs;
use crate::{acp, decode, doctor, hook, hooks, manage, policy, run, sessions, talk};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// The name in messages and in the log.
pub const PROGRAM: &str = "stablehand";

/// Runs any command-line coding agent so that a person can leave it alone.
#[derive(Debug, Parser)]
#[command(name = "stablehand", version, max_term_width = 100, after_help = crate::failure::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an agent, supervised
    Run(Box<RunArgs>),
    /// Talk with an agent: many turns, and it may ask
    Talk(Box<TalkArgs>),
    /// Be an agent of the Agent Client Protocol, for editors: any agent, or one that speaks it itself
    Acp(Box<AcpArgs>),
    /// Read an agent's recorded output from standard input as events
    Decode(DecodeArgs),
    /// Try out the rules about what an agent may do
    Policy(PolicyArgs),
    /// Answer a hook of an agent; agents start this themselves
    #[command(name = hook::SUBCOMMAND)]
    Hook(hook::HookArgs),
    /// Put our hooks into the agents' settings files, take them out, look
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Show all agents: installed, version, login, model, and what each can do
    Agents(manage::AskArgs),
    /// Log in to an agent, on this terminal
    Login(manage::LoginArgs),
    /// Log out of an agent
    Logout(manage::ActArgs),
    /// Say whether agents are logged in: exit status 0 if so, 1 if not
    Status(manage::AskArgs),
    /// Show version, login, default model and other facts
    About(manage::AskArgs),
    /// List the models that agents offer
    Models(manage::AskArgs),
    /// List and switch the MCP servers of agents
    #[command(subcommand)]
    Mcp(manage::McpCommand),
    /// List chats that can be resumed, or begin one
    #[command(subcommand)]
    Chats(manage::ChatsCommand),
    /// Look at past runs by their logs
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    /// Check everything that runs depend on, and say what to fix; or say why a run ended as it did
    Doctor(doctor::DoctorArgs),
    /// Play a scripted agent in any dialect, to test what runs agents
    #[command(name = fake::SUBCOMMAND)]
    FakeAgent(Box<FakeArgs>),
    #[command(name = "__demo-agent", hide = true, disable_help_flag = true)]
    Demo(demo::DemoArgs),
}

/// Parses the command line and runs.
pub fn main() -> ExitCode {
    // Before anything else is set up: a keeper is to be small.
    if std::env::args_os().nth(1).is_some_and(|word| word == KEEPER) {
        return crate::keeper_exit();
    }
    // Likewise what an agent may start before every tool.
    if std::env::args_os().nth(1).is_some_and(|word| word == hook::SUBCOMMAND)
        && let Some(code) = hook::early_main(crate::hook_alone::judge)
    {
        return code;
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == fake::SUBCOMMAND)
        && let Some(code) = stablehand_fake::perform::child_main()
    {
        return code;
    }
    stablehand::pages::return_large_blocks();
    let command = Cli::command().mut_subcommand("acp", acp::trim_help);
    let parsed = command
        .try_get_matches_from(sessions::mark_words(std::env::args_os()))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return crate::explain(&error),
    };
    let result = match cli.command {
        Command::Run(args) => run::main(&args),
        Command::Talk(args) => talk::main(&args),
        Command::Acp(args) => acp::main(&args),
        Command::Decode(args) => decode::main(&args),
        Command::Policy(args) => policy::main(&args),
        // The early path has taken every other.
        Command::Hook(_) => Ok(crate::failure::USAGE),
        Command::Hooks(command) => hooks::main(&command),
        Command::Agents(args) => manage::agents(&args),
        Command::Login(args) => manage::log_in(&args),
        Command::Logout(args) => manage::log_out(&args),
        Command::Status(args) => manage::status(&args),
        Command::About(args) => manage::about(&args),
        Command::Models(args) => manage::models(&args),
        Command::Mcp(command) => manage::mcp(&command),
        Command::Chats(command) => manage::chats(&command),
        Command::Sessions(command) => sessions::main(&command),
        Command::Doctor(args) => doctor::main(&args),
        Command::FakeAgent(args) => fake::main(&args),
        Command::Demo(args) => demo::main(&args),
    };
    crate::finish(PROGRAM, result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What stands below each heading of a command's help.
    fn headings(command: &clap::Command) -> BTreeMap<&str, Vec<&str>> {
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for arg in command.get_arguments() {
            if let Some(heading) = arg.get_help_heading() {
                found.entry(heading).or_default().push(arg.get_id().as_str());
            }
        }
        found
    }

    #[test]
    fn options_stand_below_the_headings_they_belong_to() {
        let limits =
            <crate::limits::LimitArgs as clap::Args>::augment_args(clap::Command::new("x"));
        let limits: Vec<_> = limits.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let log = &["log_dir", "log_level", "no_index", "log_sync", "log_required"][..];
        let known: [(&str, &[&str]); 5] = [
            ("Approvals", &["unattended", "approval_timeout", "approve_fd"]),
            ("Log", log),
            ("Secrets", &["redact_raw", "no_redact"]),
            ("Settings", &["context", "env", "max_output", "no_policy", "no_config"]),
            ("Terminal", &["transport", "size", "exit_when_quiet"]),
        ];
        let mut commands = vec![Cli::command()];
        let mut seen = 0;
        while let Some(command) = commands.pop() {
            for (heading, args) in headings(&command) {
                let name = command.get_name();
                let expected: Vec<&str> = match known.iter().find(|(known, _)| *known == heading) {
                    Some((_, args)) => args.to_vec(),
                    None if heading.starts_with("Limits") => {
                        limits.iter().map(String::as_str).collect()
                    }
                    None => panic!("{name}: an unknown heading: {heading}"),
                };
                assert!(
                    args.iter().all(|arg| expected.contains(arg)),
                    "{name}, {heading}: {args:?}"
                );
                seen += 1;
            }
            commands.extend(command.get_subcommands().cloned());
        }
        assert!(seen > 15, "{seen}");
    }
}
