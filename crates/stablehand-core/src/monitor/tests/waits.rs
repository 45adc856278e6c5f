//! What is waited for.

use super::*;

#[test]
fn what_is_waited_for_has_a_name() {
    let mut run = Run::with(Limits::modern());
    let at = |run: &Run| run.monitor.waits(run.now).map(|wait| wait.limit).collect::<Vec<_>>();
    run.wait(10.0);
    assert_eq!(at(&run), [TimeLimit::Startup]);
    run.event(&session("s"));
    assert_eq!(at(&run), [], "nothing was waited for yet");
    run.wait(10.0);
    assert_eq!(at(&run), [TimeLimit::FirstResponse]);
    run.event(&delta(1, TextRole::Message, "x"));
    run.wait(10.0);
    assert_eq!(at(&run), [TimeLimit::Idle]);
    run.start(timed("a", 20));
    run.wait(10.0);
    assert_eq!(at(&run), [], "within its own time");
    run.wait(15.0);
    assert_eq!(at(&run), [TimeLimit::ToolGrace]);
    run.start(tool("b"));
    run.wait(5.0);
    assert_eq!(at(&run), [], "two limits would have to agree");
    run.done(timed("a", 20));
    run.wait(5.0);
    assert_eq!(at(&run), [TimeLimit::Execute]);
    run.done(tool("b"));
    run.event(&turn_ended(None));
    run.wait(2.0);
    assert_eq!(at(&run), [TimeLimit::ExitGrace]);
}
