//! That nothing is left: after an order, after the handle is dropped, after we are killed, and
//! after the keeper is.

use super::*;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use stablehand::keeper::{KeeperError, Order};
use stablehand_core::event::{ProcessExit, ProcessRow};

const AT_ONCE: Order = Order::KillTree { polite: Duration::ZERO };

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// Reports up to the end of the tree: how the agent ended, if it is told, who leaked, who survived.
fn until_gone(keeper: &mut Keeper) -> (Option<ProcessExit>, Vec<ProcessRow>, Vec<ProcessRow>) {
    let mut exit = None;
    loop {
        match report(keeper) {
            Report::AgentExited(how) => exit = Some(how),
            Report::TreeGone { leaked, survivors } => return (exit, leaked, survivors),
            Report::Lost => panic!("the keeper is lost"),
        }
    }
}

fn family(folder: &Path, rest: &[&str]) -> Launch {
    let mut launch = launch(HOSTILE, ["family"]);
    launch.args.push(folder.into());
    launch.args.extend(rest.iter().map(OsString::from));
    launch
}

fn both_keepers() -> [KeeperProgram; 2] {
    [keeper_program(), keeper_without_cgroup()]
}

/// Folders of cgroups that we made, wherever they would be.
fn cgroups_of(keeper: u32) -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    mounts
        .lines()
        .filter(|line| line.contains(" - cgroup2 "))
        .filter_map(|line| line.split(' ').nth(4))
        .map(|point| Path::new(point).join(own).join(format!("stablehand-{keeper}")))
        .filter(|folder| folder.exists())
        .collect()
}

#[test]
fn an_order_ends_every_kind_of_descendant() {
    for program in both_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let (mut keeper, pipes) = Keeper::start(&program, &family(folder.path(), &[])).unwrap();
        assert_eq!(read_line(&pipes.stdout), "ready\n");
        let members = members(folder.path());
        assert_eq!(alive(&members).len(), 8);

        keeper.order(AT_ONCE).unwrap();
        let (exit, leaked, survivors) = until_gone(&mut keeper);
        assert_eq!(alive(&members), [""; 0]);
        assert_eq!(exit, Some(ProcessExit::Signal(9)));
        assert_eq!(survivors, []);
        let leaked: Vec<u32> = leaked.iter().map(|row| row.pid).collect();
        assert!(members.iter().all(|(_, pid)| leaked.contains(pid)), "{members:?} {leaked:?}");
        assert!(!leaked.contains(&keeper.agent_pid()));
        assert_eq!(read_all(&pipes.stdout), "", "the pipe has ended");

        let pid = keeper.pid();
        drop(keeper);
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "the keeper was not reaped");
        assert!(cgroups_of(pid).is_empty());
    }
}

#[test]
fn dropping_the_handle_ends_every_kind_of_descendant() {
    for program in both_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, pipes) = Keeper::start(&program, &family(folder.path(), &[])).unwrap();
        assert_eq!(read_line(&pipes.stdout), "ready\n");
        let members = members(folder.path());
        let agent = keeper.agent_pid();
        let before = Instant::now();
        drop(keeper);
        assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
        assert_eq!(alive(&members), [""; 0]);
        assert!(!is_alive(agent));
    }
}

#[test]
fn what_outlives_the_agent_is_named_and_ended() {
    for program in both_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let (mut keeper, pipes) =
            Keeper::start(&program, &family(folder.path(), &["exit"])).unwrap();
        assert_eq!(read_line(&pipes.stdout), "ready\n");
        assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Code(0)));
        let members = members(folder.path());
        assert_eq!(alive(&members).len(), 8, "the end of the agent ends nobody by itself");

        keeper.order(AT_ONCE).unwrap();
        let (exit, leaked, survivors) = until_gone(&mut keeper);
        assert_eq!((exit, survivors), (None, Vec::new()));
        let named = leaked.iter().all(|row| row.command.as_ref().is_some_and(|it| !it.is_empty()));
        assert!(named, "{leaked:?}");
        let mut leaked: Vec<u32> = leaked.iter().map(|row| row.pid).collect();
        let mut expected: Vec<u32> = members.iter().map(|(_, pid)| *pid).collect();
        leaked.sort_unstable();
        expected.sort_unstable();
        assert_eq!(leaked, expected);
        assert_eq!(alive(&members), [""; 0]);

        // Nobody is left, so a second order has nothing to tell.
        keeper.order(AT_ONCE).unwrap();
        assert_eq!(until_gone(&mut keeper), (None, Vec::new(), Vec::new()));
    }
}

/// A daemon of another program may work for our agent. It is not ours, and neither are its workers,
/// although these carry the environment of its first caller; a daemon of the agent's is.
#[test]
fn a_daemon_born_in_the_run_is_ended_and_named_and_an_older_one_is_left_alone() {
    for program in both_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        nix::unistd::mkfifo(Path::new(&path("calls")), nix::sys::stat::Mode::S_IRWXU).unwrap();
        // Each line that comes has a worker of its own.
        let serve = format!(
            "exec 3<>{0}; while read -r line <&3; do setsid sleep 28.5 & echo $! >{1}.new; \
             mv {1}.new {1}; done",
            path("calls"),
            path("worker")
        );
        let mut daemon = std::process::Command::new("/bin/sh")
            .args(["-c", &serve])
            .env("FIRST_CALLER", "us")
            .spawn()
            .unwrap();
        let agent = format!(
            "echo go >{}; (setsid sh -c 'echo $$ >{}; exec sleep 29.5' >/dev/null 2>&1 &); \
             while ! [ -s {} ] || ! [ -s {} ]; do sleep 0.02; done; echo ready",
            path("calls"),
            path("ours"),
            path("worker"),
            path("ours")
        );
        let agent = Launch { env: vec![("FIRST_CALLER".into(), Some("us".into()))], ..sh(&agent) };
        let (mut keeper, pipes) = Keeper::start(&program, &agent).unwrap();
        assert_eq!(read_line(&pipes.stdout), "ready\n");
        assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Code(0)));
        let pid_in = |name: &str| {
            let text = std::fs::read_to_string(path(name)).unwrap();
            text.trim().parse::<u32>().unwrap()
        };
        let (worker, ours) = (pid_in("worker"), pid_in("ours"));
        assert!(is_alive(worker) && is_alive(ours));
        keeper.order(AT_ONCE).unwrap();
        let (_, leaked, survivors) = until_gone(&mut keeper);
        let named: Vec<_> = leaked.iter().map(|row| (row.pid, row.command.as_deref())).collect();
        assert_eq!(named, [(ours, Some("sleep 29.5"))]);
        assert_eq!(survivors, []);
        assert!(!is_alive(ours));
        assert!(is_alive(worker) && is_alive(daemon.id()), "they are not ours");
        signal(worker, Signal::SIGKILL);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
}

#[test]
fn a_polite_end_lets_everybody_finish_and_waits_no_longer_than_needed() {
    let script = "setsid sh -c 'trap \"echo helper; exit\" TERM; echo up; while :; do sleep 0.02; \
                  done' & trap 'echo agent; exit 3' TERM; while :; do sleep 0.02; done";
    let (mut keeper, pipes) = start(&sh(script));
    assert_eq!(read_line(&pipes.stdout), "up\n");
    let before = Instant::now();
    keeper.order(Order::KillTree { polite: Duration::from_secs(20) }).unwrap();
    let (exit, _, survivors) = until_gone(&mut keeper);
    assert!(before.elapsed() < SOON);
    assert_eq!((exit, survivors), (Some(ProcessExit::Code(3)), Vec::new()));
    let said = read_all(&pipes.stdout);
    assert!(said.contains("helper\n") && said.contains("agent\n"), "{said}");
}

#[test]
fn politeness_ends_and_a_second_order_ends_it_earlier() {
    let folder = tempfile::tempdir().unwrap();
    let (mut keeper, pipes) = start(&family(folder.path(), &[]));
    assert_eq!(read_line(&pipes.stdout), "ready\n");
    let members = members(folder.path());
    keeper.order(Order::KillTree { polite: Duration::from_secs(25) }).unwrap();
    // The agent and one child ignore the request, all others follow it, the stopped one too.
    assert!(eventually(SOON, || alive(&members) == ["stubborn"]), "{:?}", alive(&members));
    assert!(is_alive(keeper.agent_pid()));
    let before = Instant::now();
    keeper.order(Order::KillTree { polite: Duration::from_millis(50) }).unwrap();
    let (exit, _, survivors) = until_gone(&mut keeper);
    assert!(before.elapsed() >= Duration::from_millis(50));
    assert_eq!((exit, survivors), (Some(ProcessExit::Signal(9)), Vec::new()));
    assert_eq!(alive(&members), [""; 0]);
}

#[test]
fn hoppers_and_hydras_are_caught() {
    for program in both_keepers() {
        for args in [vec!["hop", "1000"], vec!["hop", "0"], vec!["hydra"]] {
            let (mut keeper, pipes) =
                Keeper::start(&program, &launch(HOSTILE, args.clone())).unwrap();
            assert_eq!(read_line(&pipes.stdout), "ready\n");
            std::thread::sleep(Duration::from_millis(30));
            keeper.order(AT_ONCE).unwrap();
            let (_, _, survivors) = until_gone(&mut keeper);
            assert_eq!(survivors, [], "{args:?}");
            assert_eq!(read_all(&pipes.stdout), "", "{args:?} still holds the pipe");
        }
    }
}

#[test]
fn the_keeper_survives_signals_and_does_its_work_after_them() {
    let (mut keeper, _pipes) = start(&sh("sleep 20"));
    for number in Signal::iterator() {
        let deadly = [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGSEGV, Signal::SIGBUS];
        let raised = [Signal::SIGILL, Signal::SIGFPE, Signal::SIGTRAP, Signal::SIGABRT];
        if ![deadly, raised].concat().contains(&number) && number != Signal::SIGSYS {
            signal(keeper.pid(), number);
        }
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(keeper.next_report(), None);
    // Even a stopped keeper follows an order.
    signal(keeper.pid(), Signal::SIGSTOP);
    keeper.order(AT_ONCE).unwrap();
    assert_eq!(until_gone(&mut keeper).0, Some(ProcessExit::Signal(9)));
    signal(keeper.pid(), Signal::SIGSTOP);
    let before = Instant::now();
    drop(keeper);
    assert!(before.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_background_group_is_ended_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut keeper, pipes) = start(&family(folder.path(), &[]));
    assert_eq!(read_line(&pipes.stdout), "ready\n");
    let members = members(folder.path());
    let pid = |kind: &str| members.iter().find(|(name, _)| name == kind).unwrap().1;

    // Neither the agent, nor a stranger, nor a number that means something else.
    for other in [keeper.agent_pid(), std::process::id(), 0, 1, u32::MAX] {
        keeper.order(Order::KillGroup { pid: other }).unwrap();
    }
    keeper.order(Order::KillGroup { pid: pid("group") }).unwrap();
    keeper.order(Order::KillGroup { pid: pid("stubborn") }).unwrap();
    assert!(eventually(SOON, || !is_alive(pid("group"))));
    assert!(is_alive(pid("stubborn")), "it was not given its time");
    assert!(eventually(SOON, || !is_alive(pid("stubborn"))));
    assert_eq!(alive(&members).len(), 6);
    assert!(is_alive(keeper.agent_pid()));
    assert_eq!(keeper.next_report(), None);
}

#[test]
fn killing_the_supervisor_ends_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let mut supervisor = std::process::Command::new(KEEPER)
        .args(["supervise", HOSTILE, "family"])
        .arg(folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = OwnedFd::from(supervisor.stdout.take().unwrap());
    let line = read_line(&stdout);
    let mut words = line.split_whitespace();
    let mut pid = || words.next().unwrap().parse::<u32>().unwrap();
    let (keeper, agent) = (pid(), pid());
    assert_eq!(words.next(), Some("ready"));
    let members = members(folder.path());
    assert_eq!(alive(&members).len(), 8);

    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let gone = || !is_alive(keeper) && !is_alive(agent) && alive(&members).is_empty();
    assert!(eventually(Duration::from_secs(2), gone), "{:?}", alive(&members));
    assert_eq!(read_all(&stdout), "", "somebody holds the supervisor's output");
    assert!(eventually(SOON, || cgroups_of(keeper).is_empty()));
}

#[test]
fn killing_the_keeper_is_told_once_and_ends_what_can_be_found() {
    for program in both_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let (mut keeper, pipes) = Keeper::start(&program, &family(folder.path(), &[])).unwrap();
        assert_eq!(read_line(&pipes.stdout), "ready\n");
        let members = members(folder.path());
        let had_cgroup = !cgroups_of(keeper.pid()).is_empty();
        signal(keeper.pid(), Signal::SIGKILL);
        assert_eq!(report(&mut keeper), Report::Lost);
        assert_eq!(keeper.next_report(), None);
        assert_eq!(keeper.order(AT_ONCE), Err(KeeperError::Gone));
        assert!(!is_alive(keeper.agent_pid()));
        let left = alive(&members);
        if had_cgroup {
            assert!(eventually(SOON, || alive(&members).is_empty()), "{left:?}");
        } else {
            // Whoever has left both session and ancestry cannot be told from a stranger.
            assert!(!left.iter().any(|kind| ["plain", "group", "stopped"].contains(kind)));
            for (_, pid) in members.iter().filter(|(_, pid)| is_alive(*pid)) {
                signal(*pid, Signal::SIGKILL);
            }
        }
        assert!(cgroups_of(keeper.pid()).is_empty());
        assert!(!Path::new(&format!("/proc/{}", keeper.pid())).exists());
    }
}

#[test]
fn many_orphans_are_reaped_while_the_agent_runs() {
    let script = "i=0; while [ $i -lt 300 ]; do (: &); i=$((i+1)); done; echo ready; exec sleep 20";
    let (keeper, pipes) = start(&sh(script));
    assert_eq!(read_line(&pipes.stdout), "ready\n");
    let only_the_agent = || {
        let rows = stablehand::tree::descendants(keeper.pid());
        matches!(rows.as_slice(), [row] if row.pid == keeper.agent_pid() && row.name == "sleep")
    };
    let left = || stablehand::tree::descendants(keeper.pid());
    assert!(eventually(SOON, only_the_agent), "{:?}", left());
}
