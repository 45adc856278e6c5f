//! How an agent is started, what it finds, and how its end is reported.

use super::*;
use stablehand::keeper::{Order, SpawnError};
use stablehand_core::event::ProcessExit;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

#[test]
fn tells_exit_code_and_signal() {
    let (mut keeper, _pipes) = start(&sh("exit 7"));
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Code(7)));
    let (mut keeper, _pipes) = start(&sh("kill -SEGV $$"));
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Signal(11)));
    // The safe wrapper of `waitpid` knows no real-time signals.
    let (mut keeper, _pipes) = start(&sh("kill -40 $$"));
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Signal(40)));
}

#[test]
fn carries_bytes_both_ways() {
    let (keeper, pipes) = start(&sh("cat; echo error >&2"));
    nix::unistd::write(&pipes.stdin, b"prompt").unwrap();
    drop(pipes.stdin);
    assert_eq!(read_all(&pipes.stdout), "prompt");
    assert_eq!(read_all(&pipes.stderr), "error\n");
    drop(keeper);
}

#[test]
fn our_pipe_ends_do_not_block_or_leak_and_output_is_roomy() {
    use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
    let (_keeper, pipes) = start(&sh("sleep 20"));
    for end in [&pipes.stdin, &pipes.stdout, &pipes.stderr] {
        let flags = OFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFL).unwrap());
        assert!(flags.contains(OFlag::O_NONBLOCK));
        let flags = FdFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFD).unwrap());
        assert!(flags.contains(FdFlag::FD_CLOEXEC));
    }
    let size = |pipe: &OwnedFd| fcntl(pipe, FcntlArg::F_GETPIPE_SZ).unwrap();
    assert!(size(&pipes.stdout) >= size(&pipes.stderr));
}

#[test]
fn arguments_environment_and_folder_arrive_whatever_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let odd = OsString::from_vec(b"a\xff\nb".to_vec());
    let cwd = folder.path().join(&odd);
    std::fs::create_dir(&cwd).unwrap();
    let mut launch = sh("pwd; printf '%s|' \"$1\" \"$ODD\" \"${HOME-unset}\"; touch here");
    launch.args.extend(["sh".into(), odd.clone()]);
    launch.env = vec![("ODD".into(), Some(odd.clone())), ("HOME".into(), None)];
    launch.cwd = Some(cwd.clone());
    let (mut keeper, pipes) = start(&launch);
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Code(0)));
    assert!(cwd.join("here").exists());
    let mut bytes = [0_u8; 4096];
    let len = nix::unistd::read(&pipes.stdout, &mut bytes).unwrap();
    let tail = b"\na\xff\nb|a\xff\nb|unset|";
    assert!(bytes[..len].ends_with(tail), "{:?}", String::from_utf8_lossy(&bytes[..len]));
}

#[test]
fn a_long_argument_list_is_no_problem() {
    let long = "x".repeat(100_000);
    let mut launch = sh("printf %s \"$@\" | wc -c");
    launch.args.push("sh".into());
    launch.args.extend((0..8).map(|_| OsString::from(&long)));
    let (_keeper, pipes) = start(&launch);
    assert_eq!(read_all(&pipes.stdout).trim(), "800000");
}

#[test]
fn finds_programs_on_the_agents_path_and_relative_ones_from_here() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("only-here");
    std::fs::write(&script, "#!/bin/sh\necho found\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let mut on_path = launch("only-here", [""; 0]);
    on_path.env = vec![("PATH".into(), Some(folder.path().into()))];
    let (_keeper, pipes) = start(&on_path);
    assert_eq!(read_all(&pipes.stdout), "found\n");

    let from_here = pathdiff(&script);
    let mut relative = launch(&from_here, [""; 0]);
    relative.cwd = Some(PathBuf::from("/"));
    let (_keeper, pipes) = start(&relative);
    assert_eq!(read_all(&pipes.stdout), "found\n");
}

/// The way from our own working directory to `path`, by way of the root.
fn pathdiff(path: &Path) -> String {
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    format!("{}{}", "../".repeat(depth), path.strip_prefix("/").unwrap().display())
}

#[test]
fn tells_apart_why_an_agent_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let fails = |launch: &Launch| Keeper::start(&keeper_program(), launch).unwrap_err();

    for missing in ["/no/such/agent", "no-such-agent-anywhere", "", "/dev/null/agent"] {
        let error = fails(&launch(missing, [""; 0]));
        assert!(matches!(error, SpawnError::NotFound { .. }), "{missing}: {error:?}");
    }
    let plain = file("plain", "text", 0o644);
    let error = fails(&launch(&plain, [""; 0]));
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
    let error = fails(&launch(folder.path().to_str().unwrap(), [""; 0]));
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
    let script = file("script", "#!/no/such/interpreter\n", 0o755);
    let error = fails(&launch(&script, [""; 0]));
    assert!(matches!(error, SpawnError::NoInterpreter { .. }), "{error:?}");
    let error = fails(&launch("/bin/sh", ["nul\0byte"]));
    assert!(matches!(error, SpawnError::Failed { .. }), "{error:?}");

    let mut nowhere = sh("true");
    for cwd in ["/no/such/folder", &plain] {
        nowhere.cwd = Some(PathBuf::from(cwd));
        let error = fails(&nowhere);
        assert!(matches!(error, SpawnError::BadWorkingDirectory { .. }), "{error:?}");
        assert!(error.to_string().contains(cwd));
    }
}

#[test]
fn a_program_that_is_no_keeper_is_named() {
    for (program, args) in [("/no/such/keeper", vec![]), ("/bin/sh", vec!["-c", "exit 0"])] {
        let program = KeeperProgram {
            program: PathBuf::from(program),
            args: args.into_iter().map(OsString::from).collect(),
        };
        let error = Keeper::start(&program, &sh("true")).unwrap_err();
        assert!(matches!(error, SpawnError::Keeper { .. }), "{error:?}");
        assert!(error.to_string().contains(program.program.to_str().unwrap()));
    }
}

#[test]
fn the_agent_starts_with_a_clean_slate() {
    // Our parent ignores and blocks signals and leaves descriptors open; none of it may arrive.
    let script = "trap '' INT TERM HUP QUIT CHLD USR1; exec 7</dev/null 8>/dev/null 9</; \
                  exec \"$0\" __keeper";
    let program = KeeperProgram {
        program: PathBuf::from("/bin/sh"),
        args: ["-c", script, KEEPER].map(OsString::from).to_vec(),
    };
    let status = "/proc/self/status";
    let (keeper, pipes) = Keeper::start(&program, &launch("cat", [status])).unwrap();
    let text = read_all(&pipes.stdout);
    for field in ["SigBlk", "SigIgn", "SigCgt"] {
        let line = text.lines().find(|line| line.starts_with(field)).unwrap();
        let set = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // 32 and 33 belong to the C library, which lets nobody change them and sets them as needed.
        assert_eq!(set & !(0b11 << 31), 0, "{line}");
    }
    drop(keeper);

    let (keeper, pipes) = Keeper::start(&program, &launch("ls", ["/proc/self/fd"])).unwrap();
    // The fourth is the folder that `ls` reads.
    assert_eq!(read_all(&pipes.stdout), "0\n1\n2\n3\n");
    drop(keeper);

    let (keeper, pipes) = Keeper::start(&program, &sh("cat /proc/self/stat; : </dev/tty")).unwrap();
    let stat = read_all(&pipes.stdout);
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(fields[2], keeper.agent_pid().to_string(), "its own group");
    assert_eq!(fields[3], keeper.pid().to_string(), "the keeper's session");
    assert_eq!(fields[4], "0", "no terminal");
    assert!(read_all(&pipes.stderr).contains("/dev/tty"), "the terminal could be opened");
}

#[test]
fn a_writer_without_reader_gets_sigpipe() {
    let (mut keeper, pipes) = start(&launch("yes", [""; 0]));
    drop(pipes.stdout);
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Signal(13)));
}

#[test]
fn starting_others_at_the_same_time_holds_nobodys_pipe_open() {
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut running = Vec::new();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                running.push(start(&sh("sleep 20")));
                if running.len() > 8 {
                    running.clear();
                }
            }
        });
        for _ in 0..20 {
            let (_keeper, pipes) = start(&sh("echo done"));
            assert_eq!(read_all(&pipes.stdout), "done\n");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        others.join().unwrap();
    });
}

#[test]
fn interrupts_and_terminates_the_agents_group() {
    for (order, signal) in [(Order::Interrupt, 2), (Order::Terminate, 15)] {
        let (mut keeper, pipes) = start(&launch(HOSTILE, ["sleep"]));
        drop(pipes);
        assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Code(64)));
        let (mut keeper, pipes) = start(&sh("echo ready; exec sleep 20"));
        read_line(&pipes.stdout);
        keeper.order(order).unwrap();
        assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Signal(signal)));
    }
    // A stopped agent sees the polite request too.
    let (mut keeper, pipes) = start(&sh("echo ready; kill -STOP $$; sleep 20"));
    read_line(&pipes.stdout);
    keeper.order(Order::Terminate).unwrap();
    assert_eq!(report(&mut keeper), Report::AgentExited(ProcessExit::Signal(15)));
}

#[test]
fn an_order_reaches_the_group_even_after_the_agent_is_gone() {
    let script = "(trap 'echo told; exit' TERM; echo ready; while :; do sleep 0.05; done) & \
                  read line";
    let (mut keeper, pipes) = start(&sh(script));
    assert_eq!(read_line(&pipes.stdout), "ready\n");
    drop(pipes.stdin);
    assert!(matches!(report(&mut keeper), Report::AgentExited(_)));
    keeper.order(Order::Terminate).unwrap();
    assert_eq!(read_all(&pipes.stdout), "told\n");
}
