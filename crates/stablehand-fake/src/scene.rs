//! Ready scripts, each for every dialect: what goes well, what goes wrong, what never ends.
//!
//! Owns the texts; they are in the grammar of [`crate::script`], so that anybody can print one and
//! change it. The demo agent's are in `scene/demo.rs`.

mod demo;

use crate::script::{ScriptError, Step, parse};
use stablehand_core::Dialect;

pub use demo::{DEMO, DemoAsks, DemoTurn, demo_script, demo_steps};

/// A ready script.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The script.
    pub script: &'static str,
}

/// Every scene, in the order in which they are listed.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "hello",
        about: "one message and a good end",
        script: "init\nprompt\nassistant Hello from the fake agent.\ndone\n",
    },
    Scene {
        name: "shell",
        about: "a command that is really run",
        script: "init\nprompt\nassistant-before-tool I will run a command.\n\
                 run c1 30s echo hi\nassistant The command printed hi.\ndone\n",
    },
    Scene {
        name: "parallel",
        about: "two commands at once",
        script: "init\nprompt\nassistant-before-tool Two commands at once.\n\
                 start c1 30s echo one\nstart c2 30s echo two\nfinish c1\nfinish c2\n\
                 assistant Both commands are done.\ndone\n",
    },
    Scene {
        name: "failing-tool",
        about: "a command that exits with 3, and an agent that goes on",
        script: "init\nprompt\nassistant-before-tool This will fail.\n\
                 run c1 30s echo oops >&2; exit 3\nassistant The command failed with 3.\ndone\n",
    },
    Scene {
        name: "edit",
        about: "a file is made; only told, nothing is written",
        script: "init\nprompt\nassistant-before-tool I will write a greeting.\n\
                 write e1 hello.txt Hello, world!\\n\nsleep 200ms\n\
                 write-done e1 hello.txt Hello, world!\\n\n\
                 assistant The greeting stands in hello.txt.\ndone\n",
    },
    Scene {
        name: "plan",
        about: "a list of things to do, twice",
        script: "init\nprompt\nplan [>] fetch oats | [ ] feed the ponies\n\
                 read r1 stable.txt\nread-done r1 stable.txt\n\
                 plan [x] fetch oats | [>] feed the ponies\n\
                 assistant The oats are here, the ponies are next.\ndone\n",
    },
    Scene {
        name: "long-text",
        about: "a message of 200 kB",
        script: "init\nprompt\nlong 200000\ndone\n",
    },
    Scene {
        name: "unicode",
        about: "text that breaks careless readers: joined emoji, NUL, U+2028, quotes, bidi",
        script: "init\nprompt\nassistant Pony: 🐴 👩‍🌾 e\u{301} \u{2028}\u{2029} שלום \u{202e}oats\u{202c} \\0 \\t \"quoted\" \\\\ </script> \u{feff}end\ndone\n",
    },
    Scene {
        name: "slow",
        about: "words 200 ms apart, where the dialect tells them one by one",
        script: "init\nprompt\npace 200ms\n\
                 assistant One word after the other, as if each of them had to be found first.\ndone\n",
    },
    Scene {
        name: "stall",
        about: "silence for ever after the first text",
        script: "init\nprompt\nassistant-before-tool Let me think about that.\nforever\n",
    },
    Scene {
        name: "long-tool",
        about: "a command that takes 20 s, within the minute that it declared",
        script: "init\nprompt\nassistant-before-tool This takes a while.\n\
                 run c1 60s sleep 20; echo done\nassistant It is done.\ndone\n",
    },
    Scene {
        name: "error-auth",
        about: "the key is not accepted",
        script: "init\nprompt\nerror auth\n",
    },
    Scene {
        name: "error-rate-limit",
        about: "too many requests, also after two more tries",
        script: "init\nprompt\nretry 1 rate-limit\nsleep 300ms\nretry 2 rate-limit\nsleep 600ms\n\
                 error rate-limit\n",
    },
    Scene {
        name: "error-overloaded",
        about: "the model is overloaded, also after two more tries",
        script: "init\nprompt\nretry 1 overloaded\nsleep 300ms\nretry 2 overloaded\nsleep 600ms\n\
                 error overloaded\n",
    },
    Scene {
        name: "retry-then-ok",
        about: "two requests fail, the third goes well",
        script: "init\nprompt\nretry 1 server\nsleep 300ms\nretry 2 server\nsleep 600ms\n\
                 assistant Recovered after two failures.\ndone\n",
    },
    Scene {
        name: "background",
        about: "leaves a process of its own session running for five minutes",
        script: "init\nprompt\nassistant-before-tool I leave a server running.\n\
                 run c1 30s setsid sleep 300 >/dev/null 2>&1 & echo started\n\
                 assistant The server is running.\ndone\n",
    },
    Scene {
        name: "no-exit",
        about: "a good end, and a process that never exits",
        script: "init\nprompt\nassistant Here is your answer; I shall stay.\ndone\nforever\n",
    },
    Scene {
        name: "cut",
        about: "ends in the middle of a line, without a result, with exit code 0",
        script: "init\nprompt\nassistant-before-tool I begin.\ncut This sentence is never heard to its end.\nexit 0\n",
    },
    Scene {
        name: "big-output",
        about: "a command that prints 2 MB",
        script: "init\nprompt\nassistant-before-tool Large output.\n\
                 run c1 60s yes 'oats and hay' | head -c 2000000\nassistant That was a lot.\ndone\n",
    },
    Scene {
        name: "crash",
        about: "dies by SIGSEGV while a command runs",
        script: "init\nprompt\nassistant-before-tool I will build it.\nshell c1 30s make all\n\
                 sleep 200ms\nstderr fatal: something is very wrong\ndie SEGV\n",
    },
    Scene {
        name: "look",
        about: "says which images came with the prompt",
        script: "init\nprompt\nlook\nassistant That is all that I was shown.\ndone\n",
    },
    Scene {
        name: "ask",
        about: "asks for permission to run a command; where nobody can be asked, it is denied",
        script: "init\nprompt\nassistant-before-tool May I run a command?\n\
                 ask c1 30s echo hi\nassistant So be it.\ndone\n",
    },
];

impl Scene {
    /// The scene of that name.
    pub fn by_name(name: &str) -> Option<&'static Scene> {
        SCENES.iter().find(|scene| scene.name == name)
    }

    /// Its steps in a dialect; refused where the dialect cannot say it.
    pub fn steps(&self, dialect: Dialect) -> Result<Vec<Vec<Step>>, ScriptError> {
        parse(self.script, dialect)
    }
}
