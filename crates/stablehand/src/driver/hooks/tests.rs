//! The two ends of the socket against each other: real sockets, and callers that misbehave.

use super::serve::{Exchange, Incoming, News};
use crate::hook_call::{HookCall, MOST_PAYLOAD, Response};
use nix::poll::{PollFd, PollTimeout, poll};
use stablehand_core::Dialect;
use stablehand_core::Moment;
use stablehand_core::hook::{Answered, Reply};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

fn hooks() -> &'static dyn stablehand_core::hook::Hooks {
    Dialect::Cursor.hooks().unwrap()
}

fn call(event: &'static str, socket: Option<PathBuf>, token: &str) -> HookCall<'static> {
    HookCall {
        agent: "cursor",
        hooks: Dialect::Cursor.hook_answers(),
        event,
        socket,
        token: token.into(),
        within: LIMIT,
    }
}

/// A hook's process, as far as it matters here.
fn caller(call: HookCall<'static>, payload: Vec<u8>) -> JoinHandle<Answered> {
    std::thread::spawn(move || {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let writer = std::thread::spawn(move || {
            let _not_wanted = theirs.write_all(&payload);
        });
        let answered = call.make(&mut ours);
        drop(ours);
        writer.join().unwrap();
        answered
    })
}

fn attend(exchange: &mut Exchange, mut until: impl FnMut(&News) -> bool) -> News {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < LIMIT, "nothing came");
        let mut fds: Vec<_> = exchange.wants().map(|(fd, flags)| PollFd::new(fd, flags)).collect();
        let _interrupted = poll(&mut fds, PollTimeout::from(50u8));
        drop(fds);
        let news = exchange.attend(Moment(began.elapsed()));
        if until(&news) {
            return news;
        }
    }
}

fn one_call(exchange: &mut Exchange) -> Incoming {
    attend(exchange, |news| !news.calls.is_empty()).calls.remove(0)
}

fn open(folder: &Path) -> (Exchange, PathBuf) {
    let at = folder.join("run");
    let exchange = Exchange::open(&at, "word").unwrap();
    (exchange, crate::hook_call::socket_of(&at))
}

fn denies(answered: &Answered, because: &str) {
    assert!(answered.stdout.contains(r#""permission":"deny""#), "{answered:?}");
    assert!(answered.stdout.contains(because), "{answered:?} does not say {because}");
}

#[test]
fn a_question_is_heard_whole_and_its_answer_comes_back_as_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, socket) = open(folder.path());
    for size in [2, 70_000, 10 << 20] {
        let payload = vec![b' '; size];
        let thread = caller(call("preToolUse", Some(socket.clone()), "word"), payload);
        let heard = one_call(&mut exchange);
        assert_eq!((heard.event.as_str(), heard.payload.len()), ("preToolUse", size));
        let answer = hooks().answer("preToolUse", &Reply::Allow { input: None });
        exchange.answer(heard.number, &Response::of(answer.clone()));
        assert_eq!(thread.join().unwrap(), answer);
    }
}

#[test]
fn without_a_good_answer_a_question_is_denied_and_a_message_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = Some(folder.path().join("nobody"));
    let long = Some(folder.path().join("x".repeat(200)));
    let table = [
        (None, "STABLEHAND_HOOK_SOCKET"),
        (nobody, "cannot be reached"),
        (long, "sockets have room for"),
    ];
    for (socket, because) in table {
        let asked = caller(call("beforeShellExecution", socket.clone(), ""), b"{}".to_vec());
        denies(&asked.join().unwrap(), because);
        let told = caller(call("afterFileEdit", socket, ""), b"{}".to_vec()).join().unwrap();
        assert_eq!((told.exit, told.stdout.as_str()), (0, "{}"), "{told:?}");
        assert!(told.stderr.contains(because), "{told:?}");
    }
    let unknown = caller(call("preToolAbuse", None, ""), b"{}".to_vec()).join().unwrap();
    assert_eq!(unknown.exit, 2, "{unknown:?}");
    assert!(unknown.stderr.contains("preToolAbuse"), "{unknown:?}");
}

#[test]
fn a_wrong_word_and_too_long_a_payload_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, socket) = open(folder.path());
    let thread = caller(call("preToolUse", Some(socket.clone()), "wort"), b"{}".to_vec());
    let news = attend(&mut exchange, |news| !news.refused.is_empty());
    assert!(news.calls.is_empty());
    denies(&thread.join().unwrap(), "token");
    // The client does not even send it.
    let long = vec![b'x'; MOST_PAYLOAD + 1];
    let thread = caller(call("preToolUse", Some(socket), "word"), long);
    denies(&thread.join().unwrap(), "MiB");
}

#[test]
fn whoever_is_killed_in_the_middle_denies_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, socket) = open(folder.path());
    let began = Instant::now();
    let thread = caller(call("preToolUse", Some(socket), "word"), b"{}".to_vec());
    one_call(&mut exchange);
    drop(exchange);
    denies(&thread.join().unwrap(), "ended before it answered");
    assert!(began.elapsed() < LIMIT);
}

#[test]
fn a_caller_that_goes_away_or_talks_nonsense_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (mut exchange, socket) = open(folder.path());
    for nonsense in
        [&b"\n"[..], b"{}\n", b"{\"v\":1", &[0xff; 5000], b"{\"v\":1,\"token\":\"word\"}\n"]
    {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(nonsense).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let news = attend(&mut exchange, |news| !news.refused.is_empty());
        assert!(news.calls.is_empty(), "{news:?}");
        let mut rest = Vec::new();
        let _closed = stream.read_to_end(&mut rest);
    }
    // One that waits and leaves is noticed.
    let mut stream = UnixStream::connect(&socket).unwrap();
    let header = r#"{"v":1,"token":"word","agent":"cursor","event":"stop","bytes":0}"#;
    writeln!(stream, "{header}").unwrap();
    let number = one_call(&mut exchange).number;
    drop(stream);
    assert_eq!(attend(&mut exchange, |news| !news.gone.is_empty()).gone, [number]);
    // And whoever comes next is served.
    let thread = caller(call("preToolUse", Some(socket), "word"), b"{}".to_vec());
    let heard = one_call(&mut exchange);
    exchange.answer(heard.number, &Response::of(Answered::default()));
    assert_eq!(thread.join().unwrap(), Answered::default());
}

#[test]
fn the_folder_is_ours_alone_and_goes_with_the_run() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("run");
    let (exchange, _) = open(folder.path());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&at), mode(&at.join("lock"))), (0o700, 0o600));
    assert!(Exchange::open(&at, "word").is_err(), "a folder that is there is somebody else's");
    drop(exchange);
    assert!(!at.exists());
}

/// More idle connections than there are lines for: none of them holds a hook up.
#[test]
fn idle_connections_do_not_delay_a_hook() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let mut exchange = Exchange::open(&folder, "secret").unwrap();
    let socket = crate::hook_call::socket_of(&folder);
    let mut idle = Vec::new();
    for _ in 0..5 {
        idle.extend((0..60).map(|_| UnixStream::connect(&socket).unwrap()));
        exchange.attend(Moment::START);
    }
    let began = Instant::now();
    let waiting = caller(call("preToolUse", Some(socket), "secret"), b"{}".to_vec());
    let incoming = one_call(&mut exchange);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    exchange.answer(incoming.number, &Response::refusal("no".to_owned()));
    waiting.join().unwrap();
}
