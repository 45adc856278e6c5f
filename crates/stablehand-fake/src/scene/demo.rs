//! What the demo agent plays, by a word in its prompt.
//!
//! Owns the texts and which of them a prompt asks for. For one turn it speaks Cursor's dialect, in a
//! conversation the Agent Client Protocol, where it can also ask before it does something.

use crate::act::{Act, Call, Work};
use crate::script::{ScriptError, Step, parse};
use stablehand_core::Dialect;

/// How every scene of the demo begins: a moment to think, then text word by word.
const OPENING: &str = "init\nprompt\nsleep 300ms\npace 25ms\nlook\n";

/// What is played instead of a scene that does something, where nothing may be changed.
const ONLY_A_PLAN: &str = "pace 40ms\nthinking Only a plan is wanted, so I touch nothing.\npace 25ms\n\
    assistant-before-tool I will read, and then say what I would do.\\n\n\
    read 1 README.md\nsleep 300ms\nread-done 1 README.md\n\
    plan [x] read what is there | [ ] write hello.txt | [ ] look at the clock\n\
    assistant-before-tool That is the plan; nothing was changed.\\n\ndone\n";

/// A scene and the words that ask for it.
#[derive(Debug, Clone, Copy)]
pub struct DemoScene {
    /// Any of these in the prompt asks for it.
    pub words: &'static [&'static str],
    /// The script, without its opening.
    pub script: &'static str,
    /// The script in a conversation, where that is another one.
    pub in_talk: Option<&'static str>,
    /// Whether it does something that a plan does not.
    pub acts: bool,
}

/// What the demo agent asks somebody about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoAsks {
    /// Nothing.
    Nothing,
    /// Whatever runs a command or changes something.
    Changes,
    /// Everything that it does.
    Everything,
}

/// A turn of the demo agent.
#[derive(Debug, Clone, Copy)]
pub struct DemoTurn<'a> {
    /// What was asked.
    pub prompt: &'a str,
    /// How it speaks: in the Agent Client Protocol it is talked with.
    pub dialect: Dialect,
    /// It is to change nothing.
    pub only_plans: bool,
    /// What it asks about, in a conversation.
    pub asks: DemoAsks,
}

/// In the order in which the prompt is searched; the last one is played without any of the words.
pub const DEMO: &[DemoScene] = &[
    // Silence without end, in the middle of a thought.
    DemoScene {
        words: &["hang"],
        script: "pace 40ms\nthinking Let me see. First\nforever\n",
        in_talk: None,
        acts: false,
    },
    // The answer is complete, but the process stays.
    DemoScene {
        words: &["linger", "never exit"],
        script: "assistant-before-tool Here is your answer. I shall stay a little.\\n\ndone\nforever\n",
        in_talk: None,
        acts: false,
    },
    // A tool that takes its time, within what it declared.
    DemoScene {
        words: &["long"],
        script: "assistant-before-tool This takes a while; a good supervisor waits for it.\\n\n\
                 run 1 60s sleep 20\n\
                 when-refused assistant-before-tool I was told no, so there is nothing to wait for.\\n\n\
                 assistant-before-tool Done.\\n\ndone\n",
        in_talk: None,
        acts: true,
    },
    // A question that the agent asks and answers itself, as Cursor does without a terminal.
    DemoScene {
        words: &["approv", "ask me"],
        script: r#"assistant-before-tool I would like to fetch a page.\n
say {"type":"interaction_query","subtype":"request","query_type":"webFetchRequestQuery","query":{"id":1,"webFetchRequestQuery":{"args":{"url":"https://example.com"},"skipApproval":false}},"session_id":"@SESSION@"}
say {"type":"interaction_query","subtype":"response","query_type":"webFetchRequestQuery","response":{"id":1,"webFetchRequestResponse":{"rejected":{"reason":"nobody is here to approve"}}},"session_id":"@SESSION@"}
tool 1 webFetchToolCall {"url":"https://example.com"}
sleep 50ms
tool-done 1 webFetchToolCall {"rejected":{"reason":"nobody is here to approve"}}
assistant-before-tool I was not allowed to; so be it.\n
done
"#,
        in_talk: Some(ASKS),
        acts: true,
    },
    // A file is made, with its diff. Only told, nothing is written.
    DemoScene {
        words: &["edit"],
        script: "assistant-before-tool I will write a greeting.\\n\n\
                 write 1 hello.txt Hello, world!\\n\nsleep 400ms\nwrite-done 1 hello.txt Hello, world!\\n\n\
                 assistant-before-tool The greeting stands in hello.txt (not really, this is a demo).\\n\ndone\n",
        in_talk: Some(EDITS),
        acts: true,
    },
    // A process of its own session that would outlive the agent, if nobody took care.
    DemoScene {
        words: &["orphan", "background"],
        script: "assistant-before-tool I leave a server running.\\n\n\
                 run 1 30s setsid sleep 300 >/dev/null 2>&1 & echo started\n\
                 when-refused assistant-before-tool I was told no, so nothing stays behind.\\n\n\
                 done\n",
        in_talk: None,
        acts: true,
    },
    // The agent itself reports a failure.
    DemoScene {
        words: &["error"],
        script: "assistant-before-tool This will not work.\\n\nresult-error This will not work.\\n\n",
        in_talk: None,
        acts: false,
    },
    // It breaks off, in the middle of a tool and of a line.
    DemoScene {
        words: &["crash"],
        script: "shell 1 30s make all\n\
                 stderr T: [internal] Failed to run step, exceeded max retries\n\
                 raw {\"type\":\"assistant\",\"mess\nexit 3\n",
        in_talk: Some(CRASHES),
        acts: false,
    },
    // A little of everything, in about four seconds.
    DemoScene {
        words: &[],
        script: "pace 40ms\nthinking A look around should do: what is here, and what time is it?\npace 25ms\n\
                 when-resumed assistant-before-tool Welcome back; I remember this session.\\n\n\
                 assistant-before-tool I will look at the folder first.\\n\n\
                 run 1 30s ls | head -5\n\
                 when-refused assistant-before-tool I was told no, so I go on without it.\\n\n\
                 read 2 README.md\nsleep 300ms\nread-done 2 README.md\n\
                 run 3 30s sleep 1; date -u\n\
                 when-refused assistant-before-tool I was told no, so it is as late as it is.\\n\n\
                 assistant-before-tool All is well. I am only a demo: try the words hang, long, edit, orphan, error, crash, linger or approval.\\n\ndone\n",
        in_talk: None,
        acts: true,
    },
];

/// A question that somebody else answers.
const ASKS: &str = "assistant-before-tool I would like to look at the clock; may I?\\n\n\
    run 1 30s date -u\n\
    when-allowed assistant-before-tool Thank you.\\n\n\
    when-refused assistant-before-tool I was not allowed to; so be it.\\n\ndone\n";

/// A thought, a list of things to do, and a file with its difference.
const EDITS: &str = "pace 40ms\nthinking A greeting is one line; it should end with a newline.\npace 25ms\n\
    plan [>] write a greeting | [ ] say so\n\
    assistant-before-tool I will write a greeting.\\n\n\
    write 1 hello.txt Hello, world!\\n\nsleep 400ms\nwrite-done 1 hello.txt Hello, world!\\n\n\
    when-refused assistant-before-tool I was told no, so nothing is written.\\n\n\
    plan [x] write a greeting | [>] say so\n\
    when-allowed assistant-before-tool The greeting stands in hello.txt (not really, this is a demo).\\n\n\
    plan [x] write a greeting | [x] say so\ndone\n";

/// It breaks off, as above, in the words of a conversation.
const CRASHES: &str = "shell 1 30s make all\n\
    stderr T: [internal] Failed to run step, exceeded max retries\n\
    raw {\"jsonrpc\":\"2.0\",\"meth\nexit 3\n";

/// The script that a turn asks for.
pub fn demo_script(turn: &DemoTurn<'_>) -> String {
    let lower = turn.prompt.to_lowercase();
    let asked = DEMO.iter().find(|scene| scene.words.iter().any(|word| lower.contains(word)));
    let script = match asked.or(DEMO.last()) {
        Some(scene) if scene.acts && turn.only_plans => ONLY_A_PLAN,
        Some(scene) if turn.dialect == Dialect::Acp => scene.in_talk.unwrap_or(scene.script),
        Some(scene) => scene.script,
        None => "",
    };
    format!("{OPENING}{script}")
}

/// The steps of a turn, with questions before what it asks about.
pub fn demo_steps(turn: &DemoTurn<'_>) -> Result<Vec<Step>, ScriptError> {
    let steps = parse(&demo_script(turn), turn.dialect)?.into_iter().flatten();
    if turn.asks == DemoAsks::Nothing || turn.dialect != Dialect::Acp {
        return Ok(steps.collect());
    }
    let is_asked = |call: &Call| match call.work {
        Work::Read { .. } => turn.asks == DemoAsks::Everything,
        _ => true,
    };
    let mut asked: Vec<String> = Vec::new();
    let mut ask = |call: Call| {
        asked.push(call.id.clone());
        Step::Ask(call)
    };
    let mut all = Vec::new();
    for step in steps {
        all.push(match step {
            Step::Start(call) if is_asked(&call) => ask(call),
            // Commands that are only told are never run, so nobody is asked.
            Step::Tell(Act::ToolBegins(call))
                if is_asked(&call) && !matches!(call.work, Work::Shell { .. }) =>
            {
                ask(call)
            }
            step => step,
        });
    }
    // Whoever asks tells the end as well.
    all.retain(|step| match step {
        Step::Finish(id) => !asked.contains(id),
        Step::Tell(Act::ToolEnds(call, _)) => !asked.contains(&call.id),
        _ => true,
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(prompt: &str, dialect: Dialect) -> DemoTurn<'_> {
        DemoTurn { prompt, dialect, only_plans: false, asks: DemoAsks::Changes }
    }

    #[test]
    fn every_scene_of_the_demo_is_a_script_in_both_dialects() {
        for scene in DEMO {
            let word = scene.words.first().unwrap_or(&"tour");
            let script = demo_script(&turn(word, Dialect::Cursor));
            assert!(script.ends_with(scene.script), "{script}");
            for dialect in [Dialect::Cursor, Dialect::Acp] {
                for only_plans in [false, true] {
                    demo_steps(&DemoTurn { only_plans, ..turn(word, dialect) }).unwrap();
                }
            }
        }
        let script = |prompt| demo_script(&turn(prompt, Dialect::Cursor));
        assert_eq!(script("please HANG now"), script("hang"));
    }

    #[test]
    fn what_it_asks_about_is_asked_and_told_once() {
        let count = |asks, prompt| {
            let steps = demo_steps(&DemoTurn { asks, ..turn(prompt, Dialect::Acp) }).unwrap();
            let asked = steps.iter().filter(|step| matches!(step, Step::Ask(_))).count();
            let done = steps
                .iter()
                .filter(|step| matches!(step, Step::Finish(_) | Step::Tell(Act::ToolEnds(..))));
            (asked, done.count())
        };
        assert_eq!(count(DemoAsks::Nothing, "tour"), (0, 3));
        assert_eq!(count(DemoAsks::Changes, "tour"), (2, 1));
        assert_eq!(count(DemoAsks::Everything, "tour"), (3, 0));
        assert_eq!(count(DemoAsks::Changes, "edit"), (1, 0));
        let plan = DemoTurn { only_plans: true, ..turn("edit", Dialect::Acp) };
        assert!(!demo_steps(&plan).unwrap().iter().any(|step| matches!(step, Step::Ask(_))));
    }
}
