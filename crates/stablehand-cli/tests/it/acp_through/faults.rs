//! What goes wrong on either side: a clear error for whoever waits, a whole log, and nobody left.

use super::{HELLO, NEW, PROMPT, agent, answers, converse, through};
use crate::support::{bins, secs};
use nix::sys::signal::Signal;
use stablehand_testkit::TestEnv;

#[test]
fn an_agent_that_dies_in_a_turn_leaves_an_error_and_no_second_answer() {
    let env = TestEnv::new(bins());
    let dies = r#"*'"session/prompt"'*) echo '{"half'; echo why >&2; exit 3;;"#;
    let mut running = through(&env, &agent(&env, dies)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "-32603")]);
    let run = running.finish();
    run.assert_code(1);
    let answers = answers(&run, 3);
    assert_eq!(answers.len(), 1, "{}", run.stdout_text());
    let about = &answers[0]["error"]["data"]["stablehand"];
    assert_eq!(about["outcome"], "no_result");
    assert_eq!(about["exit"]["code"], 3, "{about}");
    assert!(about["log"].as_str().unwrap().contains(".jsonl"));
    assert!(about["stderr"].as_str().unwrap().contains("why"));
    assert!(run.stderr.contains("exit code 3"), "{}", run.stderr);
    assert_eq!(env.log().last()["outcome"], "no_result");
}

#[test]
fn an_agent_that_dies_in_the_middle_of_a_line_does_not_spoil_the_error() {
    let env = TestEnv::new(bins());
    let dies = r#"*'"session/prompt"'*) printf '{"half'; exit 3;;"#;
    let mut running = through(&env, &agent(&env, dies)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "-32603")]);
    let run = running.finish();
    assert_eq!(answers(&run, 3).len(), 1, "{}", run.stdout_text());
    assert!(run.stdout_text().contains("{\"half\n"), "{}", run.stdout_text());
}

/// The result of the first turn says nothing of the second.
#[test]
fn an_agent_that_dies_in_its_second_turn_did_not_succeed() {
    let env = TestEnv::new(bins());
    let dies = r#"*'"id":3'*) echo '{"id":3,"result":{"stopReason":"end_turn"}}';;
*'"id":4'*) exit 0;;"#;
    let mut running = through(&env, &agent(&env, dies)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
    let again = PROMPT.replace("\"id\":3", "\"id\":4");
    converse(&mut running, &[(&again, "-32603")]);
    let run = running.finish();
    run.assert_code(1);
    assert_eq!(env.log().last()["outcome"], "no_result");
}

#[test]
fn two_answers_both_pass() {
    let env = TestEnv::new(bins());
    let twice = r#"*'"session/prompt"'*) for n in 1 2; do echo '{"id":3,"result":{"stopReason":"end_turn"}}'; done;;"#;
    let mut running = through(&env, &agent(&env, twice)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
    running.close_stdin();
    let run = running.finish();
    run.assert_code(0);
    assert_eq!(answers(&run, 3).len(), 2, "{}", run.stdout_text());
}

#[test]
fn an_agent_that_never_answers_the_first_word_is_stopped() {
    let env = TestEnv::new(bins());
    let mut running = through(&env, "sleep 600").stdin_open().start();
    running.type_line(HELLO);
    running.wait_for_stdout("-32603");
    let run = running.finish();
    run.assert_code(2);
    let answer = &answers(&run, 1)[0]["error"];
    assert!(answer["message"].as_str().unwrap().contains("hang detected"), "{answer}");
    assert_eq!(answer["data"]["stablehand"]["verdict"], "startup");
}

#[test]
fn a_turn_that_hangs_is_cancelled_first_and_an_agent_that_obeys_stays() {
    let env = TestEnv::new(bins());
    let obeys = r#"*'"session/prompt"'*) ;;
*'"session/cancel"'*) echo '{"id":3,"result":{"stopReason":"cancelled"}}';;"#;
    let mut running = through(&env, &agent(&env, obeys)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "cancelled\"")]);
    env.wait_for_log("verdict_lifted");
    // It is there for the next prompt, and the next is judged again.
    let again = PROMPT.replace("\"id\":3", "\"id\":4");
    running.type_line(&again);
    env.wait_for("a second verdict", || env.log().all("hang_detected").len() == 2);
    running.close_stdin();
    let run = running.finish();
    let text = run.stdout_text();
    assert!(text.contains("agent_thought_chunk") && text.contains("hang detected"), "{text}");
    assert!(text.contains("\"verdict\":\"first_response\""), "{text}");
    assert_eq!(env.log().last()["outcome"], "hung");
}

#[test]
fn a_turn_that_does_not_end_when_it_is_cancelled_ends_with_the_agent() {
    let env = TestEnv::new(bins());
    let hangs = r#"*'"session/prompt"'*) ;;"#;
    let mut running = through(&env, &agent(&env, hangs)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "-32603")]);
    let run = running.finish();
    run.assert_code(2);
    assert_eq!(answers(&run, 3).len(), 1, "{}", run.stdout_text());
    let log = env.log();
    assert!(log.has("cancel_ignored"), "{:?}", log.names());
    assert_eq!(log.last()["outcome"], "hung");
}

#[test]
fn a_client_that_leaves_takes_the_agent_along_even_one_that_stays() {
    for (more, open) in [("", 0), (r#"*'"session/prompt"'*) ;;"#, 1)] {
        let env = TestEnv::new(bins());
        let command = format!("sh -c '{} ; sleep 600'", agent(&env, more).replace('\'', ""));
        let mut running = through(&env, &command).stdin_open().start();
        converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
        running.type_line(PROMPT);
        env.wait_for_log("prompt_given");
        if open == 0 {
            running.wait_for_stdout("end_turn");
        }
        running.close_stdin();
        let run = running.finish();
        run.assert_code(if open == 0 { 0 } else { 130 });
        let log = env.log();
        assert_eq!(log.one("client_left")["open"], open);
        assert!(log.has("agent_killed"), "{:?}", log.names());
    }
}

#[test]
fn a_client_whose_output_breaks_is_gone() {
    let env = TestEnv::new(bins());
    let mut running = through(&env, "sleep 600").stdin_open().stdout_unread().start();
    running.type_line("{}");
    env.wait_for_log("client_said");
    drop(running.take_stdout());
    running.finish().assert_code(0);
    assert!(env.log().has("client_left"));
}

#[test]
fn when_we_are_killed_the_tree_is_gone() {
    let env = TestEnv::new(bins());
    let mut running = through(&env, "sh -c 'sleep 600 & sleep 600'").stdin_open().start();
    running.type_line(HELLO);
    env.wait_for_log("client_said");
    running.signal(Signal::SIGKILL);
    assert_eq!(running.finish().signal, Some(9));
}

#[test]
fn a_signal_to_us_is_an_error_for_whoever_waits() {
    let env = TestEnv::new(bins());
    let hangs = r#"*'"session/prompt"'*) ;;"#;
    let mut running = through(&env, &agent(&env, hangs)).flag("--idle-timeout", "60s");
    running = running.flag("--first-response-timeout", "60s");
    let mut running = running.stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
    running.type_line(PROMPT);
    env.wait_for_log("prompt_given");
    running.signal(Signal::SIGTERM);
    let run = running.finish();
    run.assert_code(143);
    assert_eq!(answers(&run, 3).len(), 1, "{}", run.stdout_text());
}

/// Clients end an agent that takes its time by a signal, before or after they close its input.
#[test]
fn a_signal_to_us_after_the_last_answer_is_no_interruption() {
    for closes in [true, false] {
        let env = TestEnv::new(bins());
        let stays = "trap '' INT TERM; sleep 60";
        let command = format!("{}; {stays}", agent(&env, ""));
        let run = through(&env, &format!("sh -c \"{command}\"")).flag("--stop-grace", "5s");
        let mut running = run.stdin_open().start();
        converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
        if closes {
            running.close_stdin();
            env.wait_for_log("client_left");
        }
        running.signal(Signal::SIGTERM);
        env.wait_for_log("signal_received");
        running.signal(Signal::SIGTERM);
        running.finish().assert_code(0);
        assert_eq!(env.log().one("run_ended")["outcome"], "success", "closes: {closes}");
    }
}

/// The agent ends the turn because it is interrupted: that answer is no success.
#[test]
fn a_turn_that_a_signal_cut_is_interrupted_although_it_was_answered() {
    let env = TestEnv::new(bins());
    let answers = r#"*'"session/prompt"'*) trap 'echo "{\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}"; exit' INT; sleep 20 & wait;;"#;
    let run = through(&env, &agent(&env, answers)).flag("--idle-timeout", "60s");
    let mut running = run.flag("--first-response-timeout", "60s").stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
    running.type_line(PROMPT);
    env.wait_for_log("prompt_given");
    running.signal(Signal::SIGTERM);
    running.wait_for_stdout("cancelled");
    running.close_stdin();
    running.finish().assert_code(143);
    assert_eq!(env.log().one("run_ended")["outcome"], "interrupted");
}

#[test]
fn frames_of_32_mib_pass_both_ways_in_bounded_memory() {
    let env = TestEnv::new(bins());
    let mut frame = br#"{"jsonrpc":"2.0","id":9,"method":"_big","params":{"data":""#.to_vec();
    frame.resize(frame.len() + (32 << 20), b'x');
    frame.extend_from_slice(b"\"}}\n{\"id\":10,\"method\":\"_after\"}\n");
    let run = through(&env, "cat").stdin(frame.clone()).deadline(secs(120)).finish();
    run.assert_code(0);
    assert!(run.stdout == frame, "{} of {} bytes", run.stdout.len(), frame.len());
    run.assert_memory();
}

#[test]
fn a_client_that_writes_faster_than_the_agent_reads_waits_in_bounded_memory() {
    let env = TestEnv::new(bins());
    let line = format!("{{\"method\":\"_x\",\"params\":\"{}\"}}\n", "x".repeat(1000));
    let bytes = line.repeat(24_000).into_bytes();
    // It writes more than any pipe holds before it reads the first byte.
    let script = "head -c 4000000 /dev/zero | tr '\\0' x; echo; sleep 1; cat > heard";
    std::fs::write(env.path("late.sh"), script).unwrap();
    let command = format!("sh '{}'", env.path("late.sh").display());
    let run = through(&env, &command).flag("--stop-grace", "20s").stdin(bytes.clone());
    let run = run.deadline(secs(120)).finish();
    run.assert_code(0);
    assert_eq!(run.stdout.len(), 4_000_001);
    assert!(std::fs::read(env.work().join("heard")).unwrap() == bytes);
    run.assert_memory();
}

#[test]
fn a_turn_that_goes_on_is_not_the_end_of_another() {
    let env = TestEnv::new(bins());
    let slow =
        r#"*'"id":4'*) sleep 2; echo '{"id":4,"result":{"stopReason":"end_turn","slow":1}}';;"#;
    let run = through(&env, &agent(&env, slow)).flag("--idle-timeout", "20s");
    let mut running = run.flag("--first-response-timeout", "20s").stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
    running.type_line(PROMPT);
    let other = PROMPT.replace("\"id\":3", "\"id\":4").replace("s1", "s2");
    converse(&mut running, &[(other.as_str(), "slow")]);
    running.close_stdin();
    let run = running.finish();
    run.assert_code(0);
    let log = env.log();
    assert!(!log.has("agent_killed") && !log.has("exit_overdue"), "{:?}", log.names());
}

#[test]
fn a_command_that_cannot_be_run_is_said() {
    let env = TestEnv::new(bins());
    let run = through(&env, "no-such-agent --acp").stdin(HELLO).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("no-such-agent") && run.stderr.contains("--through"), "{run:?}");
    through(&env, "'half a quote").finish().assert_code(64);
    through(&env, "cat").args(["--model", "hay"]).finish().assert_code(64);
}
