//! What the demo agent plays, by a word in its prompt. It speaks Cursor's dialect.

/// How every scene of the demo begins: a moment to think, then text word by word.
const OPENING: &str = "init\nprompt\nsleep 300ms\npace 25ms\n";

/// A scene and the words that ask for it.
#[derive(Debug, Clone, Copy)]
pub struct DemoScene {
    /// Any of these in the prompt asks for it.
    pub words: &'static [&'static str],
    /// The script, without its opening.
    pub script: &'static str,
}

/// In the order in which the prompt is searched; the last one is played without any of the words.
pub const DEMO: &[DemoScene] = &[
    // Silence without end, in the middle of a thought.
    DemoScene { words: &["hang"], script: "pace 40ms\nthinking Let me see. First\nforever\n" },
    // The answer is complete, but the process stays.
    DemoScene {
        words: &["linger", "never exit"],
        script: "assistant-before-tool Here is your answer. I shall stay a little.\\n\ndone\nforever\n",
    },
    // A tool that takes its time, within what it declared.
    DemoScene {
        words: &["long"],
        script: "assistant-before-tool This takes a while; a good supervisor waits for it.\\n\n\
                 run 1 60s sleep 20\nassistant-before-tool Done.\\n\ndone\n",
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
    },
    // A file is made, with its diff. Only told, nothing is written.
    DemoScene {
        words: &["edit"],
        script: "assistant-before-tool I will write a greeting.\\n\n\
                 write 1 hello.txt Hello, world!\\n\nsleep 400ms\nwrite-done 1 hello.txt Hello, world!\\n\n\
                 assistant-before-tool The greeting stands in hello.txt (not really, this is a demo).\\n\ndone\n",
    },
    // A process of its own session that would outlive the agent, if nobody took care.
    DemoScene {
        words: &["orphan", "background"],
        script: "assistant-before-tool I leave a server running.\\n\n\
                 run 1 30s setsid sleep 300 >/dev/null 2>&1 & echo started\ndone\n",
    },
    // The agent itself reports a failure.
    DemoScene {
        words: &["error"],
        script: "assistant-before-tool This will not work.\\n\nresult-error This will not work.\\n\n",
    },
    // It breaks off, in the middle of a tool and of a line.
    DemoScene {
        words: &["crash"],
        script: "shell 1 30s make all\n\
                 stderr T: [internal] Failed to run step, exceeded max retries\n\
                 raw {\"type\":\"assistant\",\"mess\nexit 3\n",
    },
    // A little of everything, in about four seconds.
    DemoScene {
        words: &[],
        script: "pace 40ms\nthinking A look around should do: what is here, and what time is it?\npace 25ms\n\
                 when-resumed assistant-before-tool Welcome back; I remember this session.\\n\n\
                 assistant-before-tool I will look at the folder first.\\n\n\
                 run 1 30s ls | head -5\n\
                 read 2 README.md\nsleep 300ms\nread-done 2 README.md\n\
                 run 3 30s sleep 1; date -u\n\
                 assistant-before-tool All is well. I am only a demo: try the words hang, long, edit, orphan, error, crash, linger or approval.\\n\ndone\n",
    },
];

/// The script that a prompt asks for.
pub fn demo_script(prompt: &str) -> String {
    let lower = prompt.to_lowercase();
    let asked = DEMO.iter().find(|scene| scene.words.iter().any(|word| lower.contains(word)));
    let scene = asked.or(DEMO.last()).map_or("", |scene| scene.script);
    format!("{OPENING}{scene}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::parse;
    use stablehand_core::Dialect;

    #[test]
    fn every_scene_of_the_demo_is_a_script() {
        for scene in DEMO {
            let script = demo_script(scene.words.first().unwrap_or(&"tour"));
            assert!(script.ends_with(scene.script), "{script}");
            parse(&script, Dialect::Cursor).unwrap();
        }
        assert_eq!(demo_script("please HANG now"), demo_script("hang"));
    }
}
