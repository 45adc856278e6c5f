//! What is seen, by tables; and for any events and rules: never more often than was said.

use super::*;
use crate::event::{Item, Todo, Tool, ToolInput, ToolKind, TurnEnd};
use crate::id::{CallId, ItemId};
use proptest::prelude::*;

fn item(body: ItemBody) -> EventKind {
    EventKind::ItemCompleted { item: Item { id: ItemId(1), body } }
}

fn said(text: &str) -> EventKind {
    item(ItemBody::Message { text: text.into() })
}

fn delta(text: &str) -> EventKind {
    EventKind::ItemDelta { id: ItemId(1), role: TextRole::Message, text: text.into() }
}

fn tool(outcome: Outcome) -> EventKind {
    item(ItemBody::Tool(Box::new(Tool {
        call: CallId("c".into()),
        name: "Shell".into(),
        tool_kind: ToolKind::Execute,
        input: ToolInput::Other { summary: String::new() },
        timeout_ms: None,
        background: false,
        pid: None,
        step: None,
        outcome: Some(outcome),
        output: None,
        output_bytes: None,
        also: Vec::new(),
        diff: None,
        duration_ms: None,
        digest: 0,
    })))
}

fn failure() -> Outcome {
    Outcome::Failure { exit_code: Some(1), message: None }
}

fn plan(statuses: &[TodoStatus]) -> EventKind {
    let todo = |status: &TodoStatus| Todo { text: "x".into(), status: *status };
    item(ItemBody::Plan { todos: statuses.iter().map(todo).collect(), text: None })
}

fn ended(text: Option<&str>) -> EventKind {
    let text = text.map(str::to_owned);
    EventKind::TurnEnded { end: TurnEnd::Done, text, usage: None, duration_ms: None }
}

fn began() -> EventKind {
    EventKind::TurnStarted { prompt: None, by: None }
}

fn rule(when: Option<When>, matches: Option<&str>, max: u32) -> ContinueRule {
    ContinueRule {
        place: RuleRef { name: None, file: "t".into(), line: 1 },
        of: Rester::Main,
        when,
        matches: matches.map(|pattern| Regex::new(pattern).unwrap()),
        agents: Vec::new(),
        prompt: "go on".into(),
        max,
    }
}

fn seen(events: &[EventKind]) -> Seen {
    let mut seen = Seen::default();
    for event in events {
        seen.take(event);
    }
    seen
}

/// The main agent, at rest.
fn main(seen: &Seen) -> Resting<'_> {
    Resting { subagent: None, seen }
}

/// Which of the three states hold after the events.
fn states(events: &[EventKind]) -> Vec<When> {
    let seen = seen(events);
    When::ALL.iter().copied().filter(|when| rule(Some(*when), None, 1).fits(&seen)).collect()
}

#[test]
fn in_which_state_it_came_to_rest() {
    use TodoStatus::{Cancelled, Completed, InProgress, Pending};
    use When::{FailedTool, NoAnswer, OpenTodos};
    let prose = item(ItemBody::Plan { todos: Vec::new(), text: Some("first oats".into()) });
    let denied = Outcome::Denied { reason: "no".into() };
    let table: &[(&str, Vec<EventKind>, &[When])] = &[
        ("nothing at all", vec![], &[NoAnswer]),
        ("an answer", vec![began(), said("Fed."), ended(None)], &[]),
        ("an answer in pieces", vec![delta("Fe"), delta("d.")], &[]),
        ("an answer in the result alone", vec![began(), ended(Some("Fed."))], &[]),
        ("spaces are no answer", vec![said("  \n"), ended(Some(" "))], &[NoAnswer]),
        ("pending", vec![plan(&[Completed, Pending]), said("x")], &[OpenTodos]),
        ("in progress", vec![plan(&[InProgress]), said("x")], &[OpenTodos]),
        ("all done or given up", vec![plan(&[Completed, Cancelled]), said("x")], &[]),
        ("the last plan counts", vec![plan(&[Pending]), plan(&[Completed]), said("x")], &[]),
        ("prose closes nothing", vec![plan(&[Pending]), prose, said("x")], &[OpenTodos]),
        ("a failed tool", vec![tool(failure()), said("x")], &[FailedTool]),
        ("a late one", vec![tool(Outcome::TimedOut), said("x")], &[FailedTool]),
        ("mended", vec![tool(failure()), tool(Outcome::Success), said("x")], &[]),
        ("forbidden is not failed", vec![tool(denied), said("x")], &[]),
        (
            "said before the tool, and told again at the end",
            vec![said("I look."), tool(Outcome::Success), ended(Some("I look."))],
            &[NoAnswer],
        ),
        (
            "another turn begins anew, but for the plan",
            vec![plan(&[Pending]), tool(failure()), ended(None), began(), said("x")],
            &[OpenTodos],
        ),
        (
            "also where nothing says that it begins",
            vec![tool(failure()), said("a"), ended(None), tool(Outcome::Success)],
            &[NoAnswer],
        ),
    ];
    for (name, events, expected) in table {
        assert_eq!(states(events), *expected, "{name}");
    }
}

#[test]
fn a_pattern_is_about_the_last_text() {
    let fits = |pattern: &str, events: &[EventKind]| {
        decide(&[rule(None, Some(pattern), 1)], main(&seen(events)), &Counts::default()).is_some()
    };
    assert!(fits(r"Shall I go on\?$", &[said("Hm."), said("Done so far. Shall I go on?")]));
    assert!(!fits(r"Shall I go on\?$", &[said("Shall I go on?"), said("Done.")]));
    assert!(fits("^Fed all$", &[delta("Fed "), delta("all")]));
    // The end of a long text is what is kept.
    let long = "x".repeat(3 * LAST_TEXT) + "é to be continued";
    assert!(fits("to be continued$", &[said(&long)]));
    // Both must fit.
    let both = [rule(Some(When::OpenTodos), Some("x"), 1)];
    assert!(decide(&both, main(&seen(&[said("x")])), &Counts::default()).is_none());
}

#[test]
fn the_first_rule_that_is_not_used_up_counts() {
    let rules = [rule(Some(When::NoAnswer), None, 1), rule(Some(When::NoAnswer), None, 2)];
    let seen = Seen::default();
    let mut counts = Counts::default();
    let mut used = Vec::new();
    while let Some((index, _)) = decide(&rules, main(&seen), &counts) {
        used.push(index);
        counts.add(index, None);
    }
    assert_eq!(used, [0, 1, 1]);
    assert_eq!(used_up(&rules, main(&seen), &counts).map(|rule| rule.max), Some(1));
}

#[test]
fn a_sub_agent_has_rules_and_counts_of_its_own() {
    let of_subagents =
        |matches, when, max| ContinueRule { of: Rester::SubAgent, ..rule(when, matches, max) };
    let rules = [
        rule(None, Some("."), 1),
        of_subagents(Some("ponies"), None, 1),
        of_subagents(None, Some(When::NoAnswer), 2),
    ];
    let mut counts = Counts::default();
    let mut tell = |subagent: Option<&str>, last_text: &str| {
        let seen = Seen::of_subagent(last_text);
        let resting = Resting { subagent, seen: &seen };
        let index = decide(&rules, resting, &counts)?.0;
        counts.add(index, subagent);
        Some(index)
    };
    assert_eq!(tell(None, "two ponies"), Some(0), "the main agent has its own rule");
    assert_eq!(tell(None, "two ponies"), None);
    assert_eq!(tell(Some("a"), "oats"), None);
    assert_eq!(tell(Some("a"), "two ponies"), Some(1));
    assert_eq!(tell(Some("a"), "two ponies"), None, "used up for this one");
    assert_eq!(tell(Some("b"), "two ponies"), Some(1), "and not for another");
    assert_eq!(tell(Some("b"), " "), Some(2), "nothing was said");
    let told = (0..100).filter(|n| tell(Some(&n.to_string()), "ponies").is_some()).count();
    assert_eq!(told + 3, MOST_IN_ALL as usize, "all sub-agents together have a bound");
    assert_eq!((counts.total(Rester::Main), counts.total(Rester::SubAgent)), (1, MOST_IN_ALL));
}

fn any_event() -> impl Strategy<Value = EventKind> {
    use TodoStatus::{Completed, Pending};
    prop_oneof![
        Just(began()),
        Just(ended(None)),
        Just(ended(Some("the end"))),
        "[a-zé ]{0,9}".prop_map(|text| said(&text)),
        "[a-zé ]{0,9}".prop_map(|text| delta(&text)),
        Just(tool(failure())),
        Just(tool(Outcome::Success)),
        Just(plan(&[Pending])),
        Just(plan(&[Completed])),
    ]
}

fn any_rule() -> impl Strategy<Value = ContinueRule> {
    let when = prop::option::of(prop::sample::select(When::ALL));
    let matches = prop::option::of(prop::sample::select(vec!["a", "^$", ".*"]));
    (when, matches, 1..9_u32).prop_map(|(when, matches, max)| rule(when, matches, max))
}

proptest! {
    #[test]
    fn it_always_comes_to_an_end_and_never_beyond_a_bound(
        rules in prop::collection::vec(any_rule(), 0..6),
        turns in prop::collection::vec(prop::collection::vec(any_event(), 0..12), 1..40),
    ) {
        let (mut seen, mut counts) = (Seen::default(), Counts::default());
        let mut total = 0;
        for turn in turns.iter().cycle().take(60) {
            for event in turn {
                seen.take(event);
            }
            let decided = decide(&rules, main(&seen), &counts).map(|(index, rule)| (index, rule.max));
            // A function of its arguments and nothing else.
            prop_assert_eq!(decide(&rules, main(&seen), &counts).map(|(index, _)| index), decided.map(|d| d.0));
            if let Some((index, max)) = decided {
                prop_assert!(counts.of(index, None) < max);
                prop_assert!(rules[index].fits(&seen));
                // No earlier rule that fits was passed over.
                for (earlier, rule) in rules.iter().enumerate().take(index) {
                    prop_assert!(!rule.fits(&seen) || counts.of(earlier, None) >= rule.max);
                }
                counts.add(index, None);
                total += 1;
                seen.begin_turn();
            } else {
                prop_assert!(
                    total == MOST_IN_ALL
                        || rules.iter().enumerate().all(|(i, r)| !r.fits(&seen) || counts.of(i, None) >= r.max)
                );
            }
        }
        prop_assert!(total <= MOST_IN_ALL);
        prop_assert_eq!(total, counts.total(Rester::Main));
    }

    #[test]
    fn pieces_of_a_text_are_the_text(text in "[a-zé]{1,40}", at in 0..40_usize) {
        let cut = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (head, tail) = text.split_at(cut);
        let whole = seen(&[delta(&text)]);
        prop_assert_eq!(seen(&[delta(head), delta(tail)]), whole);
    }
}
