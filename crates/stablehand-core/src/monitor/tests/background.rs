//! A result that comes while background tasks are open, and what follows it.

use super::*;
use crate::event::{OpenTask, TurnEnd};

fn command(id: u64) -> Item {
    let (task, description) = ("local_bash".to_owned(), format!("make {id}"));
    Item { id: ItemId(id), body: ItemBody::BackgroundTask { task, description } }
}

fn agent(id: u64) -> Item {
    Item { id: ItemId(id), body: ItemBody::SubAgent { description: "feed".into() } }
}

impl Run {
    fn task(&mut self, item: &Item) -> &mut Self {
        self.event(&EventKind::ItemStarted { item: item.clone() })
    }

    fn task_done(&mut self, item: &Item) -> &mut Self {
        self.event(&EventKind::ItemCompleted { item: item.clone() })
    }

    fn early(&mut self) -> &mut Self {
        let (end, usage) = (TurnEnd::Done, None);
        self.event(&EventKind::TurnResult { end, text: None, usage, duration_ms: None })
    }

    fn wakes(&mut self) -> &mut Self {
        self.event(&EventKind::TurnStarted { prompt: None, by: None })
    }

    fn stands(&self) -> usize {
        self.count(|action| *action == Action::ResultStands)
    }
}

#[test]
fn an_agent_that_wakes_within_the_limit_gives_both_answers() {
    for item in [command(77), agent(77)] {
        for quiet in [6.0, 20.0, 60.0, 600.0, 899.0] {
            let mut run = Run::plain();
            run.begin().text().task(&item).early().wait(quiet).lives();
            assert_eq!((run.overdue(), run.stands()), (0, 0), "after {quiet} s");
            run.task_done(&item).wakes().wait(30.0).text().is(Health::Working);
            run.end().is(Health::Finishing).wait(5.0).lives();
            assert_eq!((run.overdue(), run.stands()), (1, 0));
        }
    }
}

#[test]
fn an_agent_that_never_wakes_is_cut_and_the_verdict_names_its_tasks() {
    let mut run = Run::plain();
    run.begin().text().task(&command(77)).wait(10.0).early();
    run.gives(VerdictKind::Background, 910.0).says(
        "limit reached: no output for 15m 00s after a result while a background task was open: \
         local_bash `make 77` (limit 15m 00s)",
    );
    let evidence = run.judgement().map(|(_, judgement)| judgement.evidence.clone()).unwrap();
    let task = |description: &str| OpenTask {
        task: "local_bash".into(),
        description: description.into(),
        elapsed_ms: 910_000,
    };
    assert_eq!(evidence.background_tasks, [task("make 77")]);
    assert_eq!((evidence.silence_ms, evidence.limit_ms), (900_000, 900_000));
    // Several, one of them an agent, and a limit of one's own.
    let mut run = Run::with(Limits { background_wait: secs(7.0), ..Limits::modern() });
    run.monitor.limits.witness.max_extensions = 0;
    run.begin().task(&agent(1)).task(&command(2)).early();
    run.gives(VerdictKind::Background, 7.0).says(
        "limit reached: no output for 7s after a result while background tasks were open: \
         agent `feed` and 1 more (limit 7s)",
    );
}

#[test]
fn a_task_that_is_busy_gets_more_time() {
    let mut run = Run::modern();
    run.begin().task(&command(1)).early().wait(900.0).witness(500).lives();
    run.wait(449.0).lives();
}

#[test]
fn signs_of_life_begin_the_wait_anew() {
    let mut run = Run::plain();
    run.begin().task(&agent(1)).early().wait(800.0).give(Input::Heard).wait(800.0).lives();
    // An agent in the background that only ticks may do so for as long as a sub-agent works.
    for _ in 0..3 {
        run.give(Input::Heard).wait(500.0).lives();
    }
    run.give(Input::Heard).gives(VerdictKind::NoProgress, 3600.0);
}

#[test]
fn a_sub_agent_that_works_in_the_background_does_not_wake_the_main_one() {
    let mut run = Run::plain();
    run.begin().task(&agent(1)).early().wait(10.0);
    run.start(tool("a")).wait(5.0).done(tool("a")).wait(5.0).task_done(&agent(1));
    run.wait(4.9).lives();
    assert_eq!(run.stands(), 0);
    run.wait(0.1);
    assert_eq!(run.stands(), 1);
}

#[test]
fn without_tasks_the_exit_grace_holds_again() {
    let mut run = Run::plain();
    run.begin().text().task(&command(1)).task(&command(2)).early().wait(100.0);
    run.task_done(&command(1)).wait(20.0);
    assert_eq!(run.stands(), 0);
    run.task_done(&command(2)).wait(3.0).give(Input::Heard).wait(1.9);
    assert_eq!(run.stands(), 0, "a tick is no wake-up, and no more time");
    run.wait(0.1).is(Health::Finishing);
    assert_eq!((run.stands(), run.overdue()), (1, 0));
    run.end().is(Health::Finishing).wait(5.0).lives();
    assert_eq!((run.stands(), run.overdue()), (1, 1));
}

#[test]
fn a_command_may_be_left_for_the_next_prompt_and_an_agent_not() {
    let mut run = Run::plain();
    run.begin().text().task(&command(1));
    assert!(!run.monitor.may_end_turn());
    assert!(run.early().monitor.may_end_turn());
    assert!(!run.task(&agent(2)).monitor.may_end_turn());
    assert!(!run.task_done(&agent(2)).wakes().monitor.may_end_turn());
}
