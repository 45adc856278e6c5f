//! What holds for the recipes of every agent.

use super::*;
use crate::agent::Agent;
use proptest::prelude::*;
use stablehand_core::event::ProcessExit;

const ACTIONS: [Action; 6] = [
    Action::LogIn,
    Action::LogOut,
    Action::EnableMcp,
    Action::DisableMcp,
    Action::LogInMcp,
    Action::NewChat,
];
const QUESTIONS: [Question; 6] = [
    Question::Version,
    Question::Login,
    Question::About,
    Question::Models,
    Question::Mcp,
    Question::Chats,
];

#[test]
fn what_is_not_supported_says_what_to_do() {
    for agent in Agent::ALL.iter().copied() {
        let questions = QUESTIONS.iter().map(|question| agent.row().manage.question(*question));
        let actions = ACTIONS.iter().map(|action| agent.row().manage.action(*action));
        for recipe in questions.chain(actions) {
            if let Recipe::Unsupported(instead) = recipe {
                assert!(instead.len() > 10, "{}: {instead}", agent.name());
            }
        }
        for question in QUESTIONS {
            let on_terminal = matches!(agent.row().manage.question(question), Recipe::Terminal(_));
            assert!(!on_terminal, "{}: a question is not asked on a terminal", agent.name());
        }
    }
}

#[test]
fn a_name_is_an_argument_of_its_own() {
    for agent in Agent::ALL.iter().copied() {
        for action in ACTIONS {
            let args = match agent.row().manage.action(action) {
                Recipe::Ask(ask) => ask.args.unwrap_or_default(),
                Recipe::Terminal(args) => args,
                Recipe::Unsupported(_) => continue,
            };
            let takes_name =
                matches!(action, Action::EnableMcp | Action::DisableMcp | Action::LogInMcp);
            assert_eq!(args.contains(&NAME), takes_name, "{} {action:?}", agent.name());
        }
    }
}

/// Bytes that look a little like what agents print.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[\\PC\n\"{}\\[\\],:.@=#●│└┌✓✗-]{0,200}".prop_map(String::into_bytes),
        "(\\{\"(status|models|loggedIn|mcp)\": ?(null|[0-9]|\\[|\"x\"|\\{)){0,4}.{0,9}"
            .prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn noise_is_never_a_login_and_never_breaks_a_parser(
        stdout in noise(),
        stderr in noise(),
        code in prop_oneof![Just(0), Just(1), any::<i32>()],
        file in noise(),
        cut: bool,
    ) {
        let output = Output { stdout, stderr, exit: ProcessExit::Code(code), cut };
        let head = [output.stdout.clone(), file.clone()].concat();
        let transcripts = [Transcript { name: "x".into(), modified_ms: None, head }];
        let files = vec![Some(file); 9];
        let heard = Heard {
            output: Some(&output),
            files: &files,
            transcripts: Some(&transcripts),
            ..testing::nothing()
        };
        for agent in Agent::ALL.iter().copied().filter(|agent| !agent.row().is_built_in()) {
            let questions = QUESTIONS.iter().map(|question| agent.row().manage.question(*question));
            let actions = ACTIONS.iter().map(|action| agent.row().manage.action(*action));
            for recipe in questions.chain(actions) {
                let Recipe::Ask(ask) = recipe else { continue };
                if let Ok(Answer::Login(login)) = (ask.parse)(&heard) {
                    prop_assert_ne!(login.state, LoginState::In, "{}", agent.name());
                }
            }
        }
    }
}
