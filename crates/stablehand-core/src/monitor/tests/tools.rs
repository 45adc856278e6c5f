//! Open tools, lost completions, background commands.

use super::*;
use crate::event::{ToolInput, ToolKind};
use VerdictKind::{Idle, IdleAfterText, IdleAfterTool, NoProgress, Tool as ToolVerdict};

#[test]
fn a_declared_timeout_and_its_grace_run_from_its_own_start() {
    let mut run = Run::wrap();
    run.begin().wait(5.0).start(Tool {
        input: ToolInput::Command { command: "sleep 600".into(), cwd: None },
        ..timed("a", 10)
    });
    run.is(Health::InTool).gives(ToolVerdict, 45.0).says(
        "hang detected: tool past its time: `sleep 600` open for 40s (timeout 10s + grace 30s)",
    );
    // A long tool within its time is left alone, and is not even called quiet.
    Run::wrap().begin().start(timed("a", 600)).wait(599.0).is(Health::InTool).lives();
    Run::wrap().begin().start(timed("a", 600)).gives(ToolVerdict, 630.0);
}

#[test]
fn without_a_timeout_the_class_or_the_idle_limit_rules() {
    let fetch = || Tool {
        tool_kind: ToolKind::Fetch,
        input: ToolInput::Url { url: "u".into() },
        ..tool("a")
    };
    Run::plain().begin().start(tool("a")).gives(ToolVerdict, 600.0);
    Run::plain().begin().start(fetch()).gives(ToolVerdict, 300.0);
    Run::plain().begin().start(sub_agent("a")).gives(ToolVerdict, 3600.0);
    Run::wrap().begin().start(fetch()).gives(ToolVerdict, 60.0);
    // A timeout of zero is no information, one of a day is not believed.
    Run::plain().begin().start(timed("a", 0)).gives(ToolVerdict, 600.0);
    Run::plain().begin().start(timed("a", 86_400)).gives(ToolVerdict, 3630.0);
    let mut run = Run::plain();
    let most = Tool { timeout_ms: Some(u64::MAX), ..tool("a") };
    run.begin().start(most).gives(ToolVerdict, 3630.0);
    let least = Tool { timeout_ms: Some(1), ..tool("a") };
    Run::plain().begin().start(least).gives(ToolVerdict, 31.0);
}

#[test]
fn a_sub_agent_with_traffic_is_never_judged_by_its_start() {
    let mut run = Run::wrap();
    run.begin().start(sub_agent("a"));
    for _ in 0..20 {
        run.wait(30.0).text();
    }
    run.lives().is(Health::InTool).gives(ToolVerdict, 660.0);
}

#[test]
fn only_when_all_open_tools_are_past_their_limits() {
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).wait(5.0).start(timed("b", 100));
    run.gives(ToolVerdict, 135.0).says(
        "hang detected: 2 tools past their time: \
         `run a` open for 2m 15s (timeout 10s + grace 30s), \
         `run b` open for 2m 10s (timeout 1m 40s + grace 30s)",
    );
    // One ends first; the other keeps its own time.
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).wait(5.0).start(timed("b", 100));
    run.wait(5.0).done(timed("a", 10)).is(Health::InTool);
    run.gives(ToolVerdict, 135.0);
    // The one that is past its time waits for the other, and then for the grace.
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).start(timed("b", 100)).wait(90.0);
    run.done(timed("b", 100)).gives(ToolVerdict, 120.0);
}

#[test]
fn a_busy_tree_extends_our_guess_but_not_a_declared_time() {
    let mut run = Run::modern();
    run.begin().start(tool("make")).wait(600.0).lives().witness(900).wait(299.0).lives();
    let mut run = Run::modern();
    run.begin().start(timed("a", 10)).gives(ToolVerdict, 40.0);
}

#[test]
fn text_after_a_tool_shows_that_it_is_over() {
    // No timeout: presumed complete at once, and the idle limit rules.
    let mut run = Run::plain();
    run.begin().start(tool("a")).wait(10.0).text().is(Health::Working);
    assert_eq!(run.closed(true), ["a"]);
    run.gives(IdleAfterText, 310.0);
    // Reasoning shows it as well.
    Run::plain().begin().start(tool("a")).wait(1.0).think().gives(Idle, 301.0);
    // Its completion is no news after that.
    let mut run = Run::plain();
    run.begin().start(tool("a")).text().wait(5.0).done(tool("a"));
    assert!(run.closed(false).is_empty());
    run.gives(IdleAfterTool, 305.0);
}

#[test]
fn late_words_of_the_same_answer_close_nothing() {
    // The text began before the tool did.
    let mut run = Run::plain();
    run.begin().text().start(tool("a"));
    run.event(&delta(1, TextRole::Message, "more")).is(Health::InTool);
    assert!(run.closed(true).is_empty());
    // The declared time still runs: the tool keeps it.
    let mut run = Run::wrap();
    run.begin().start(timed("a", 600)).wait(1.0).think().is(Health::InTool);
    run.gives(ToolVerdict, 630.0);
    // But a doubted tool brings no verdict sooner than silence would.
    Run::wrap().begin().start(timed("a", 10)).wait(5.0).text().gives(ToolVerdict, 65.0);
    // Past its declared time, text shows that it is over.
    Run::wrap().begin().start(timed("a", 10)).wait(12.0).text().gives(IdleAfterText, 72.0);
}

#[test]
fn a_new_step_closes_the_calls_of_the_old_one() {
    let hour = || in_step("1", timed("a", 3600));
    let mut run = Run::wrap();
    run.begin().start(hour()).wait(5.0).start(in_step("2", tool("b")));
    assert_eq!(run.closed(true), ["a"]);
    run.done(in_step("2", tool("b"))).gives(IdleAfterTool, 65.0);
    // Calls of one step are siblings, and a sibling takes a presumption back.
    let mut run = Run::plain();
    run.begin().start(in_step("1", tool("a"))).text().is(Health::Working);
    run.start(in_step("1", tool("b"))).done(in_step("1", tool("b"))).is(Health::InTool);
    // Without steps two tools are parallel.
    let mut run = Run::plain();
    run.begin().start(tool("a")).start(tool("b")).done(tool("b")).is(Health::InTool);
    // So is a call that names none beside one that does.
    let mut run = Run::plain();
    run.begin().start(tool("a")).start(in_step("1", tool("b")));
    assert!(run.closed(true).is_empty());
}

#[test]
fn output_of_a_tool_shows_that_it_runs() {
    let mut run = Run::plain();
    run.begin().start(tool("a")).text().is(Health::Working).wait(3.0);
    run.event(&delta(1, TextRole::ToolOutput, "line")).is(Health::InTool);
    run.gives(ToolVerdict, 603.0);
    // A tool that still prints past its time is not stuck.
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).wait(35.0);
    run.event(&delta(1, TextRole::ToolOutput, "line")).gives(ToolVerdict, 65.0);
}

#[test]
fn keepalives_give_a_tool_no_time_for_ever() {
    let mut run = Run::plain();
    run.begin().start(tool("a"));
    for _ in 0..300 {
        run.wait(10.0).give(Input::Heard);
    }
    run.gives(NoProgress, 1800.0);
    // But a tool within its own time is not cut short by them.
    let mut limits = Limits::modern();
    limits.no_progress = secs(100.0);
    let mut run = Run::with(limits);
    run.begin().start(timed("a", 1000));
    for _ in 0..200 {
        run.wait(10.0).give(Input::Heard);
    }
    run.gives(ToolVerdict, 1030.0);
}

#[test]
fn odd_pairings_are_fine() {
    let odd = "call\n1";
    let mut run = Run::plain();
    run.begin().done(tool("never started")).is(Health::Working);
    run.start(tool(odd)).wait(5.0).start(tool(odd)).is(Health::InTool);
    assert_eq!(run.count(|a| matches!(a, Action::ToolOpened(_))), 1);
    run.done(tool(odd)).done(tool(odd)).is(Health::Working);
    assert_eq!(run.closed(false), [odd]);
    assert_eq!(run.monitor.status(run.now).tool_calls, 3);
    let elapsed = run.actions.iter().find_map(|(_, a)| match a {
        Action::ToolClosed { elapsed, .. } => Some(*elapsed),
        _ => None,
    });
    assert_eq!(elapsed, Some(secs(5.0)));
}

#[test]
fn a_background_tool_is_not_open() {
    let background = |pid| Tool { background: true, pid, ..tool("dev") };
    let mut run = Run::plain();
    run.begin().start(background(None)).is(Health::Working);
    run.done(background(Some(42))).gives(IdleAfterTool, 300.0);
    // It may also turn out at its completion.
    let mut run = Run::plain();
    run.begin().start(timed("dev", 30)).is(Health::InTool);
    run.done(background(Some(42))).is(Health::Working);
    assert_eq!(run.monitor.status(run.now).background, 1);
}

#[test]
fn background_commands_are_stopped_before_the_agent_is() {
    let background = || Tool { background: true, pid: Some(42), ..tool("dev") };
    let stops = |run: &Run| run.count(|a| *a == Action::StopBackground { pids: vec![42] });
    let mut run = Run::plain();
    run.begin().start(background()).done(background()).text().wait(29.9);
    assert_eq!(stops(&run), 0);
    run.wait(0.1);
    assert_eq!(stops(&run), 1);
    run.gives(IdleAfterText, 60.0).says(
        "hang detected: no result for 30s after the background commands were stopped \
         (limit 30s), last event item.delta",
    );
    assert_eq!(stops(&run), 1);
    // The result comes: nothing is wrong.
    let mut run = Run::plain();
    run.begin().start(background()).done(background()).text().wait(40.0).end();
    run.wait(1.0).give(Input::AgentExited).lives();
    // With the document's limits a hang is found as fast as without.
    let mut run = Run::wrap();
    run.begin().start(background()).done(background()).text().gives(IdleAfterText, 60.0);
    assert_eq!(stops(&run), 1);
    // While the model thinks or a tool is open, nothing is stopped.
    let mut run = Run::plain();
    run.begin().start(background()).done(background()).think().wait(200.0);
    run.text().start(tool("a")).wait(200.0);
    assert_eq!(stops(&run), 0);
}

#[test]
fn the_table_is_bounded() {
    let mut run = Run::plain();
    run.begin();
    for n in 0..3000 {
        run.start(timed(&n.to_string(), 3600));
    }
    assert_eq!(run.monitor.tools.remembered(), super::super::tools::CAPACITY);
    assert_eq!(run.closed(true).len(), 3000 - super::super::tools::CAPACITY);
}
