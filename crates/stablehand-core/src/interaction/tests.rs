//! Tables of the machine: what becomes of requests and turns. Calls have their tables in `calls`.

use super::*;
use crate::event::{Item, Outcome, ToolInput, ToolKind};
use crate::id::ItemId;

const PATIENCE: Duration = Duration::from_mins(1);

fn attended() -> Attendance {
    Attendance::Person { patience: Some(PATIENCE) }
}

fn at(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

fn says(action: Action, unattended: Action) -> Decision {
    Decision { action, unattended, reason: "why".into(), rule: None, parts: Vec::new() }
}

fn shell(call: &str, command: &str) -> Tool {
    let input = ToolInput::Command { command: command.to_owned(), cwd: None };
    Tool::new(CallId(call.to_owned()), "shell", ToolKind::Execute, input)
}

fn item(tool: Tool) -> Item {
    Item { id: ItemId(1), body: ItemBody::Tool(Box::new(tool)) }
}

fn done(call: &str, command: &str) -> EventKind {
    let tool = Tool { outcome: Some(Outcome::Success), ..shell(call, command) };
    EventKind::ItemCompleted { item: item(tool) }
}

fn turn_ended() -> EventKind {
    EventKind::TurnEnded { end: TurnEnd::Done, text: None, usage: None, duration_ms: None }
}

#[test]
fn the_rules_answer_and_leave_to_a_person_what_they_ask_about() {
    use Action::{Allow, Ask, Deny};
    let (yes, no) = (Answer::Allow, deny("why"));
    let table = [
        (says(Allow, Allow), attended(), Reaction::Answer(yes.clone())),
        (says(Deny, Deny), attended(), Reaction::Answer(no.clone())),
        (says(Ask, Allow), attended(), Reaction::Wait),
        (says(Ask, Allow), Attendance::Nobody, Reaction::Answer(yes)),
        (says(Ask, Deny), Attendance::Nobody, Reaction::Answer(no)),
    ];
    for (decision, attendance, expected) in table {
        let mut machine = Interaction::new(attendance);
        let reaction = machine.request("q", Asker::Conversation, &decision, at(0));
        assert_eq!(reaction, expected, "{decision:?} {attendance:?}");
        assert_eq!(machine.waits("q"), expected == Reaction::Wait);
    }
}

#[test]
fn what_nobody_answers_becomes_what_the_rules_say_for_nobody() {
    let ask = says(Action::Ask, Action::Deny);
    let mut machine = Interaction::new(attended());
    machine.request("a", Asker::Hook(1), &ask, at(0));
    machine.request("b", Asker::Service(1), &ask, at(500));
    assert_eq!(machine.deadline(), Some(at(60_000)));
    assert_eq!(machine.expire(at(59_999)), []);
    let due = machine.expire(at(60_000));
    let expected =
        Waiting { id: "a".into(), asker: Asker::Hook(1), since: at(0), otherwise: deny("why") };
    assert_eq!(due, [expected]);
    assert_eq!(machine.deadline(), Some(at(60_500)));
    let left = machine.leave_alone().unwrap();
    assert_eq!(left.iter().map(|open| open.id.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!((machine.leave_alone(), machine.deadline()), (None, None));
    let reaction = machine.request("c", Asker::Conversation, &ask, at(0));
    assert_eq!(reaction, Reaction::Answer(deny("why")), "nobody is there any more");
}

#[test]
fn without_patience_a_person_is_waited_for() {
    let mut machine = Interaction::new(Attendance::Person { patience: None });
    machine.request("a", Asker::Conversation, &says(Action::Ask, Action::Deny), at(0));
    assert_eq!((machine.deadline(), machine.expire(at(u64::from(u32::MAX)))), (None, vec![]));
}

#[test]
fn who_is_waited_for_is_known_before_and_after() {
    let ask = says(Action::Ask, Action::Deny);
    let mut machine = Interaction::new(attended());
    assert_eq!(machine.take_held(false), (false, false));
    machine.request("a", Asker::Hook(7), &ask, at(0));
    assert_eq!(
        (machine.asker_of("a"), machine.waiting_of(Asker::Hook(7))),
        (Some(Asker::Hook(7)), Some("a"))
    );
    assert_eq!(machine.take_held(false), (true, false));
    machine.settle("a", Permission::Granted);
    assert_eq!(machine.take_held(true), (true, true), "the client of the agent has a request");
    assert_eq!(machine.take_held(false), (false, true));
}

#[test]
fn a_turn_begins_with_a_prompt_and_ends_when_the_agent_says_so() {
    let mut machine = Interaction::new(Attendance::Nobody).open_ended(true);
    assert!(!machine.in_turn() && !machine.is_last());
    machine.prompted("hay".into());
    assert!(machine.in_turn() && machine.prompts() == 1);
    machine.saw(&turn_ended());
    assert!(machine.take_ended() && !machine.take_ended() && !machine.in_turn());
    machine.finish();
    assert!(machine.is_last());
    assert_eq!(machine.take_prompt(), Some("hay".into()));
}

#[test]
fn an_interrupted_turn_has_its_time_to_end() {
    let mut machine = Interaction::new(attended()).open_ended(true);
    machine.prompted("hay".into());
    machine.request("a", Asker::Conversation, &says(Action::Ask, Action::Deny), at(0));
    machine.request("b", Asker::Service(1), &says(Action::Ask, Action::Deny), at(0));
    machine.interrupt(at(1000));
    assert!(!machine.waits("a") && machine.waits("b"), "the interrupt answers the conversation");
    assert_eq!(machine.deadline(), Some(at(11_000)));
    assert!(!machine.is_overdue(at(10_999)));
    let mut obeyed = machine.clone();
    obeyed.saw(&turn_ended());
    assert!(!obeyed.is_overdue(at(11_000)));
    assert!(obeyed.was_cancelled(Some(&TurnEnd::Cancelled)) && !obeyed.was_cancelled(None));
    assert!(machine.is_overdue(at(11_000)) && !machine.is_overdue(at(11_000)));
    obeyed.prompted("oats".into());
    assert!(!obeyed.is_cancelled());
}

#[test]
fn a_call_that_no_granted_request_covers_is_unasked() {
    // What is done between the request and the end of the call, and whether the call is unasked.
    type Act = fn(&mut Interaction);
    let table: [(Act, bool); 6] = [
        (|machine| machine.settle("q", Permission::Granted), false),
        (|machine| machine.settle("q", Permission::Changed), false),
        (|machine| machine.settle("q", Permission::Denied), true),
        (|_| {}, true),
        (|machine| machine.interrupt(at(0)), true),
        (|machine| machine.withdraw(|_| true), true),
    ];
    for (row, (act, expected)) in table.into_iter().enumerate() {
        let mut machine = Interaction::new(attended()).judging(true);
        let (call, tool) = (CallId("c1".into()), shell("c1", "rm x"));
        machine.ask("q", "request", Some(&call), Some(&tool));
        machine.request("q", Asker::Conversation, &says(Action::Ask, Action::Deny), at(0));
        act(&mut machine);
        machine.saw(&done("c1", "rm x"));
        assert_eq!(!machine.take_unasked().is_empty(), expected, "row {row}");
        assert_eq!(machine.take_unasked(), [], "row {row}: a call is judged once");
        machine.saw(&done("c1", "rm x"));
        assert_eq!(machine.take_unasked(), [], "row {row}: its end was told again");
    }
}

#[test]
fn a_request_may_come_after_the_beginning_and_even_the_end_of_its_call() {
    let mut machine = Interaction::new(Attendance::Nobody).judging(true);
    machine.saw(&EventKind::ItemStarted { item: item(shell("c1", "ls")) });
    machine.saw(&done("c1", "ls"));
    // The same chunk, or a hook that was served after it.
    machine.ask("hook-1", "before", None, Some(&shell("", "ls")));
    machine.settle("hook-1", Permission::Granted);
    assert_eq!(machine.take_unasked(), []);
}

#[test]
fn the_stream_tells_what_a_request_is_about() {
    let call = CallId("c1".into());
    let mut machine = Interaction::new(Attendance::Nobody);
    machine.saw(&EventKind::ItemStarted { item: item(shell("c1", "")) });
    machine.saw(&EventKind::ItemStarted { item: item(shell("c1", "ls")) });
    assert_eq!(machine.begun(&call), Some(&shell("c1", "ls")), "the last knows most");
    machine.saw(&done("c1", "ls"));
    assert_eq!(machine.begun(&call), None);
    assert_eq!(machine.take_unasked(), [], "nobody judges");
    machine.saw(&EventKind::ItemStarted { item: item(shell("c1", "ls")) });
    machine.saw(&turn_ended());
    assert_eq!(machine.begun(&call), None, "its turn is over");
}
