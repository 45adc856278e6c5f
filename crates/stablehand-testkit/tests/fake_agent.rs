//! The fake agent does what its script says, and leaves nothing when its place is gone.

#[cfg(test)]
#[path = "fake_agent/hooks.rs"]
mod hooks;
#[cfg(test)]
#[path = "fake_agent/other_hooks.rs"]
mod other_hooks;
#[cfg(test)]
use tests::env;

#[cfg(test)]
mod tests {
    use nix::sys::signal::Signal;
    use stablehand_testkit::script::ChildKind;
    use stablehand_testkit::{Bins, TestEnv};
    use std::time::Duration;

    pub(super) fn env(script: &str) -> TestEnv {
        let fake_agent = env!("CARGO_BIN_EXE_fake-agent");
        // The product's binaries play no part here.
        let bins = Bins {
            cursor_wrap: fake_agent.into(),
            stablehand: fake_agent.into(),
            fake_agent: fake_agent.into(),
        };
        TestEnv::with_script(bins, script)
    }

    #[test]
    fn speaks_cursor_and_records_what_it_was_given() {
        let env = env("read-stdin\ninit s-1\nuser feed\nassistant done\nresult done\nexit 3");
        let run = env.fake_agent().args(["--print", "--resume", "x"]).stdin("feed").finish();
        run.assert_code(3);
        assert!(run.stdout.starts_with(br#"{"type":"system","subtype":"init""#));
        let types: Vec<_> = run.stdout_json().iter().map(|line| line["type"].clone()).collect();
        assert_eq!(types, ["system", "user", "assistant", "result"]);
        assert_eq!(env.argv(1), ["--print", "--resume", "x"]);
        assert_eq!(env.record("1.stdin"), "feed");
        assert!(env.agent_env(1).contains_key("STABLEHAND_TEST"));
    }

    #[test]
    fn says_the_same_in_another_dialect() {
        let env = env("read-stdin\ninit s-1\nprompt\nassistant done\nresult done");
        let run = env.fake_agent().variable("FAKE_AGENT_DIALECT", "gemini").stdin("feed").finish();
        let lines = run.assert_code(0).stdout_json();
        let types: Vec<_> = lines.iter().map(|line| line["type"].clone()).collect();
        assert_eq!(types, ["init", "message", "message", "result"]);
        assert_eq!(lines[1]["content"], "feed");
    }

    #[test]
    fn takes_the_next_section_at_each_start() {
        let env = env("say one\n---\nsay two");
        let outputs = [(); 2].map(|()| env.fake_agent().finish().stdout_text());
        assert_eq!(outputs, ["one\n", "two\n"]);
        assert_eq!(env.starts(), 2);
        env.fake_agent().finish().assert_code(96);
    }

    #[test]
    fn writes_any_bytes_and_any_amount() {
        let env =
            env("raw a\\0\\xff\nevents thinking 3000 block\nevents tool 2 line\ngiant 5000000");
        let run = env.fake_agent().finish();
        assert!(run.stdout.starts_with(b"a\x00\xff{"));
        assert!(run.stdout.ends_with(stablehand_testkit::agent::GIANT_TAIL));
        assert_eq!(run.stdout.split(|byte| *byte == b'\n').count(), 3004);
        assert!(run.stdout.len() > 5_000_000);
    }

    #[test]
    fn handles_ignores_and_dies_by_signals() {
        let handled = env("on-signal TERM seen 7\ntouch ready\nhang");
        let run = handled.fake_agent().start();
        handled.record("ready");
        run.signal(Signal::SIGTERM);
        run.finish().assert_code(7);
        assert!(handled.has_record("seen"));

        let deaf = env("ignore TERM INT HUP\ntouch ready\nwait-file go\ndie KILL");
        let run = deaf.fake_agent().start();
        deaf.record("ready");
        run.signal(Signal::SIGTERM);
        run.signal(Signal::SIGHUP);
        std::fs::write(deaf.record_dir().join("go"), "").unwrap();
        assert_eq!(run.finish().signal, Some(9));
        assert_eq!(env("die SEGV").fake_agent().finish().signal, Some(11));
    }

    #[test]
    fn every_kind_of_child_outlives_it_and_is_counted() {
        for kind in ChildKind::ALL {
            let env = env(&format!("spawn {} for 10s\nexit 0", kind.word()));
            let run = env.fake_agent().start().finish_alone();
            run.assert_code(0);
            std::thread::sleep(Duration::from_millis(50));
            // A hopper may be between two processes while we look; not again and again.
            env.wait_for(&format!("{kind:?} alive and found"), || !env.living().is_empty());
            drop(env);
        }
    }

    #[test]
    fn a_child_can_hold_the_outputs() {
        let env = env("say before\nspawn daemon stdout stderr for 400ms\nexit 0");
        let mut run = env.fake_agent().stdout_unread().start();
        let mut stdout = run.take_stdout();
        let started = std::time::Instant::now();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut bytes).unwrap();
        assert!(started.elapsed() >= Duration::from_millis(300), "the daemon held the pipe");
        run.finish().assert_code(0);
    }

    #[test]
    #[should_panic(expected = "still running after")]
    fn a_process_past_its_deadline_fails_the_test() {
        let env = env("ignore TERM\nhang");
        env.fake_agent().deadline(Duration::from_millis(300)).finish();
    }

    #[test]
    #[should_panic(expected = "processes left behind")]
    fn a_process_left_behind_fails_the_test() {
        env("spawn cleandaemon for 20s\nexit 0").fake_agent().finish();
    }
}
