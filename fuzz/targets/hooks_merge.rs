//! Any text as a settings file: refused, or our hooks go in and come out again to the byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand::Agent;
use stablehand::hooks::{Answers, HookPlan, unmerge};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

static PLANS: LazyLock<Vec<HookPlan>> = LazyLock::new(|| {
    let program = Path::new("/opt/bin/stablehand");
    let plan = |agent| HookPlan::of(agent, program, Answers::Alone).expect("a plan");
    [Agent::Cursor, Agent::Claude, Agent::Gemini].into_iter().filter_map(plan).collect()
});

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let name = OsStr::new("stablehand");
    for plan in PLANS.iter() {
        let Ok(merged) = plan.merge(Some(text)) else { continue };
        // All of ours are where they count, and once.
        let survey = plan.survey(Some(&merged.text)).expect("a file that we made");
        for command in plan.commands.iter() {
            let same = |line: &str| line == command.command;
            assert!(survey.ours.iter().any(|ours| same(&ours.command)), "{}", command.event);
        }
        assert_eq!(plan.merge(Some(&merged.text)).expect("again").text, merged.text);
        let unmerged = unmerge(&merged.text, name).expect("a file that we made");
        let before = unmerge(text, name).expect("a file that was merged");
        let blank = text.trim_matches([' ', '\t', '\n', '\r']).is_empty();
        if blank {
            assert_eq!(unmerged.text, None);
        } else if before.removed == 0 {
            assert_eq!(unmerged.text.as_deref(), Some(text));
        }
    }
});
