//! A program that answers, at the other end of a pipe or a socket.

use super::*;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Lets children have a descriptor; its number.
fn hand_down(fd: &impl AsFd) -> String {
    fcntl(fd.as_fd(), FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    fd.as_fd().as_raw_fd().to_string()
}

fn pipe() -> (OwnedFd, File) {
    let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC).unwrap();
    (reader, File::from(writer))
}

fn send(to: &mut impl Write, line: &Value) {
    to.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The ids of the questions that a policy handed on, as they are printed.
fn asked(text: &str) -> Vec<String> {
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["event"]["type"] == "approval.requested")
        .filter(|event| event["event"]["why"].is_string())
        .map(|event| event["event"]["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_pipe_carries_answers_to_the_questions_among_the_events() {
    for agent in ["claude", "codex"] {
        let env = place(THREE);
        let (reader, mut writer) = pipe();
        let run = ruled(&env, agent)
            .flag("--output-format", "events")
            .flag("--approve-fd", hand_down(&reader))
            .start();
        let question = |count: usize| {
            env.wait_for("a question", || asked(&run.stdout_so_far()).len() >= count);
            asked(&run.stdout_so_far())[count - 1].clone()
        };
        let first = question(1);
        // What is no answer changes nothing.
        writer.write_all(b"yes\n\n{\"id\":\"x\",\"answer\":\"maybe\"}\n").unwrap();
        send(&mut writer, &json!({ "id": first, "answer": "allow", "message": "why" }));
        send(&mut writer, &json!({ "id": first, "answer": "always" }));
        // The second is allowed by the new rule.
        let third = question(2);
        send(&mut writer, &json!({ "id": third, "answer": "deny", "message": "not today" }));
        let run = run.finish();
        run.assert_code(0);
        assert_eq!(outcomes(&run), ["success", "success", "rejected"], "{agent}");
        assert_eq!(run.stderr.matches("is no answer").count(), 3, "{}", run.stderr);
        assert!(fs::read_to_string(rules(&env)).unwrap().contains("command = \"echo hi\""));
        assert_eq!(env.log().all("approval_resolved")[2]["message"], "not today");
    }
}

#[test]
fn a_socket_also_carries_the_questions() {
    let env = place(ONE);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let run = ruled(&env, "claude").flag("--approve-fd", hand_down(&theirs)).start();
    drop(theirs);
    let mut lines = BufReader::new(ours.try_clone().unwrap()).lines();
    let mut ours = ours;
    let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let question = &event["event"];
    assert_eq!(question["type"], "approval.requested");
    assert_eq!(question["tool"]["input"]["command"], "echo hi");
    // The tool may be given something else.
    let other = json!({ "command": "echo replaced" });
    send(&mut ours, &json!({ "id": question["id"], "answer": "allow", "updated_input": other }));
    let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(event["event"]["type"], "approval.resolved");
    let run = run.finish();
    run.assert_code(0);
    assert!(env.log().mentions("echo replaced"));
    assert_eq!(env.log().one("approval_resolved")["choice"], "allow_with");
    assert!(lines.next().is_none(), "the socket ends with the run");
}

#[test]
fn codex_cannot_be_given_another_input_and_the_question_stays() {
    let env = place(ONE);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let run = ruled(&env, "codex").flag("--approve-fd", hand_down(&theirs)).start();
    drop(theirs);
    let mut line = String::new();
    let mut ours = ours;
    BufReader::new(ours.try_clone().unwrap()).read_line(&mut line).unwrap();
    let event: Value = serde_json::from_str(&line).unwrap();
    let id = &event["event"]["id"];
    send(&mut ours, &json!({ "id": id, "answer": "allow", "updated_input": {} }));
    env.wait_for_log("answer_refused");
    send(&mut ours, &json!({ "id": id, "answer": "allow" }));
    run.finish().assert_code(0);
    assert_eq!(env.log().one("approval_resolved")["choice"], "allow");
}

#[test]
fn when_the_program_leaves_nobody_is_there() {
    let env = place(THREE);
    let (reader, writer) = pipe();
    let run = ruled(&env, "claude")
        .flag("--output-format", "events")
        .flag("--approve-fd", hand_down(&reader))
        .start();
    env.wait_for("a question", || !asked(&run.stdout_so_far()).is_empty());
    drop(writer);
    let run = run.finish();
    run.assert_code(0);
    assert_eq!(outcomes(&run), ["rejected", "rejected", "rejected"]);
    let log = env.log();
    assert_eq!(log.all("approval_resolved")[0]["by"], "unattended");
    assert_eq!(asked(&run.stdout_text()).len(), 1, "nobody is asked any more");
}

#[test]
fn the_agent_does_not_get_the_descriptor() {
    let script = ONE.replace("echo hi", "ls -l /proc/self/fd");
    let env = place(&script);
    fs::write(rules(&env), "[policy]\nprofile = \"yolo\"\n").unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let number = hand_down(&theirs);
    let run = ruled(&env, "claude")
        .flag("--output-format", "events")
        .flag("--approve-fd", &number)
        .finish();
    run.assert_code(0);
    let tools = events(&run, "item.completed");
    let tool = tools.iter().find(|event| event["item"]["kind"] == "tool").unwrap();
    let listed = tool["item"]["output"].as_str().unwrap();
    assert!(listed.contains("/proc/"), "{listed}");
    assert!(!listed.contains(&format!(" {number} -> socket:")), "{listed}");
    drop(ours);
}

#[test]
fn a_number_that_is_no_descriptor_is_refused() {
    let env = place(ONE);
    let (_reader, writer) = pipe();
    let writable = hand_down(&writer);
    for (number, why) in
        [("1", "standard streams"), ("987", "not open"), (writable.as_str(), "cannot be read")]
    {
        let run = ruled(&env, "claude").flag("--approve-fd", number).finish();
        run.assert_code(64);
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    let run = command(&env, "run", "claude").flag("--approve-fd", "5").args(["go"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("would ask nothing"), "{}", run.stderr);
    assert!(env.logs().is_empty());
}

/// The example in the document, as it stands there.
#[test]
fn the_example_of_the_document_works() {
    if Command::new("python3").arg("-V").stdout(Stdio::null()).status().is_err() {
        return crate::support::skip("python3 is not installed");
    }
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/approvals.md");
    let document = fs::read_to_string(document).unwrap();
    let example = document.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    assert!(example.lines().count() <= 20, "it is to stay short");
    let env = place("init\nprompt\nask c1 30s echo hi\nask c2 30s rm x\nassistant Done.\ndone\n");
    fs::write(env.path("answer.py"), example).unwrap();
    let bin = env.bins().stablehand.parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("python3");
    command.arg(env.path("answer.py")).args(["--agent", "claude", "--output-format", "events"]);
    command.arg("--agent-bin").arg(env.path("shims/claude"));
    command.arg("--policy").arg(rules(&env)).arg("--log-dir").arg(env.log_dir()).arg("go");
    command.env("PATH", path).env("HOME", env.home()).current_dir(env.work());
    command.env(stablehand_testkit::census::MARKER, env.marker());
    let run = command.stdin(Stdio::null()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let resolved = env.log().all("approval_resolved").into_iter().cloned().collect::<Vec<_>>();
    let choices: Vec<_> = resolved.iter().map(|it| it["choice"].as_str().unwrap()).collect();
    assert_eq!(choices, ["allow", "deny"]);
    env.assert_nobody_left();
}
