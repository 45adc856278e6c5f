//! `benches/host`: many sessions, each followed by many subscribers, in one process: whether every
//! event arrives, in order and in time, against a broadcast channel fed with the same frames.

use futures_lite::StreamExt;
use stablehand::core::actor::Actor;
use stablehand::core::event::EventKind;
use stablehand::keeper::KeeperProgram;
use stablehand::{Agent, Cursor, Frame, From, Host, Session, Subscription, Surroundings};
use stablehand_benches::agent::{self, Role};
use stablehand_benches::options::{Options, sibling, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::percentile;
use stablehand_benches::{Outcome, proc};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::task::JoinSet;

/// How many frames a receiver of the peer may be behind before it loses some.
const CAPACITY: usize = 256;

/// One subscriber in so many stands still for a while.
const SLOW: usize = 10;

/// After so many events, and for so long: longer than the peer's channel lasts.
const STANDS_AFTER: usize = 100;
const STANDS: Duration = Duration::from_secs(4);

/// Threads of the runtime in which subscribers wait; with the first one, they are not the sessions'.
const WORKERS: usize = 2;
const OWN_THREADS: u64 = WORKERS as u64 + 1;

fn main() -> std::process::ExitCode {
    stablehand::init();
    report::exit(measure())
}

/// What one subscriber saw of one session.
#[derive(Default)]
struct Seen {
    frames: Vec<(Cursor, usize)>,
    delays_ms: Vec<f64>,
    disorder: usize,
    lost: u64,
}

impl Seen {
    fn take(&mut self, frame: &Arc<Frame>, is_slow: bool) {
        let address = Arc::as_ptr(frame) as usize;
        self.disorder += usize::from(self.frames.last().is_some_and(|last| last.0 >= frame.cursor));
        self.frames.push((frame.cursor, address));
        if let EventKind::ItemDelta { text, .. } = &frame.event.event
            && let (Some(written), Ok(now)) = (agent::stamp(text.as_bytes()), proc::now_ns())
            && !is_slow
        {
            self.delays_ms.push(now.saturating_sub(written) as f64 / 1e6);
        }
    }
}

/// Follows a session through the host.
async fn follow(mut events: Subscription, is_slow: bool) -> Seen {
    let mut seen = Seen::default();
    while let Some(frame) = StreamExt::next(&mut events).await {
        seen.take(&frame, is_slow);
        if is_slow && seen.frames.len() == STANDS_AFTER {
            tokio::time::sleep(STANDS).await;
        }
    }
    seen
}

/// Follows it through a broadcast channel.
async fn receive(mut events: broadcast::Receiver<Arc<Frame>>, is_slow: bool) -> Seen {
    let mut seen = Seen::default();
    loop {
        match events.recv().await {
            Ok(frame) => seen.take(&frame, is_slow),
            Err(broadcast::error::RecvError::Lagged(lost)) => seen.lost += lost,
            Err(broadcast::error::RecvError::Closed) => return seen,
        }
        if is_slow && seen.frames.len() == STANDS_AFTER {
            tokio::time::sleep(STANDS).await;
        }
    }
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--sessions", "--subscribers", "--follow", "--seconds"])?;
    let sessions = options.number("--sessions", 50)?;
    let subscribers = options.number("--subscribers", 100)?;
    let each = options.number("--follow", 10)?.min(sessions);
    let seconds = options.number("--seconds", 10)?;
    let folder = work_folder()?;
    let host = Host::new(folder.path().join("logs"));
    let program = sibling("bench-agent")?;
    let keeper = KeeperProgram { program: sibling("stablehand")?, args: vec!["__keeper".into()] };
    let mut keys = Vec::new();
    for number in 0..sessions {
        let spec = Session::builder(Agent::Cursor)
            .surroundings(Surroundings::default())
            .program(&program)
            .keeper(keeper.clone())
            .env(agent::ROLE, Role::Pace.name())
            .env(agent::EVERY, "10000")
            .env(agent::COUNT, (seconds * 100).to_string())
            .env(agent::SESSION, format!("bench-{number}"))
            .conversation();
        keys.push(host.start(spec)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_time()
        .build()?;
    let (ours, peers, threads): (Vec<Seen>, Vec<Seen>, u64) = runtime.block_on(async {
        let mut ours = JoinSet::new();
        let mut peers = JoinSet::new();
        let mut channels = Vec::new();
        for key in &keys {
            let (sender, _) = broadcast::channel(CAPACITY);
            let mut frames = host.subscribe(*key, From::Start)?;
            let feed = sender.clone();
            tokio::spawn(async move {
                while let Some(frame) = StreamExt::next(&mut frames).await {
                    let _nobody_listens = feed.send(frame);
                }
            });
            channels.push(Some(sender));
        }
        for subscriber in 0..subscribers {
            for step in 0..each {
                let at = (subscriber * each + step) % sessions;
                let is_slow = subscriber % SLOW == 0;
                let key = keys.get(at).ok_or("no such session")?;
                ours.spawn(follow(host.subscribe(*key, From::Start)?, is_slow));
                if let Some(Some(channel)) = channels.get(at) {
                    peers.spawn(receive(channel.subscribe(), is_slow));
                }
            }
        }
        channels.clear();
        for key in &keys {
            host.prompt(*key, "go", Actor::program("bench"))?;
            host.finish(*key)?;
        }
        tokio::time::sleep(Duration::from_secs(seconds as u64 / 2)).await;
        let threads = threads()? - OWN_THREADS;
        Outcome::Ok((ours.join_all().await, peers.join_all().await, threads))
    })?;
    let memory = proc::memory_kib(std::process::id(), "VmHWM")? as f64 / 1024.0;
    let expected: Vec<usize> = keys
        .iter()
        .map(|key| Ok(Iterator::count(host.subscribe(*key, From::Start)?)))
        .collect::<Outcome<_>>()?;
    let wanted: usize = (0..subscribers * each).filter_map(|at| expected.get(at % sessions)).sum();
    drop(host.shutdown(Duration::from_secs(10)));
    print(&ours, &peers, wanted, &Setting { sessions, subscribers, each, seconds, memory, threads })
}

struct Setting {
    sessions: usize,
    subscribers: usize,
    each: usize,
    seconds: usize,
    memory: f64,
    threads: u64,
}

fn print(ours: &[Seen], peers: &[Seen], wanted: usize, setting: &Setting) -> Outcome<()> {
    let Setting { sessions, subscribers, each, seconds, .. } = setting;
    say(format!(
        "{sessions} sessions of 100 events/s for {seconds} s, {subscribers} subscribers that follow {each} each, \
         one in {SLOW} stands still for {STANDS:?}; load {}",
        proc::load()
    ))?;
    let mut table = Table::new(&["", "deliveries", "lost", "out of order", "p50 ms", "p99 ms"]);
    let row = |name: &str, seen: &[Seen]| {
        let got: usize = seen.iter().map(|seen| seen.frames.len()).sum();
        let disorder: usize = seen.iter().map(|seen| seen.disorder).sum();
        let delays: Vec<f64> = seen.iter().flat_map(|seen| seen.delays_ms.clone()).collect();
        let (p50, p99) = (percentile(&delays, 0.5), percentile(&delays, 0.99));
        (name.to_owned(), got, wanted.saturating_sub(got), disorder, p50, p99)
    };
    let host = row("host", ours);
    let peer = row("broadcast", peers);
    for (name, got, lost, disorder, p50, p99) in [&host, &peer] {
        table.row([
            name.clone(),
            got.to_string(),
            lost.to_string(),
            disorder.to_string(),
            format!("{p50:.2}"),
            format!("{p99:.2}"),
        ]);
    }
    table.print()?;
    // A subscriber that decodes an event again gets another frame at the same cursor.
    let mut addresses: HashMap<Cursor, usize> = HashMap::new();
    let quick = ours.iter().flat_map(|seen| &seen.frames);
    let mut again = 0;
    for (cursor, address) in quick {
        again += usize::from(*addresses.entry(*cursor).or_insert(*address) != *address);
    }
    say(format!(
        "{} events, {again} of {} deliveries were decoded again",
        addresses.len(),
        host.1
    ))?;
    let per_session = setting.threads as f64 / *sessions as f64;
    let mut goals = Goals::default();
    goals.at_most("lost", host.2 as f64, 0.0, "");
    goals.at_most("out of order", host.3 as f64, 0.0, "");
    goals.at_most("p99 delivery", host.5, 20.0, "ms");
    goals.at_most("threads per session, all of them subscribed to", per_session, 3.0, "");
    goals.at_most("memory at its peak", setting.memory, 150.0, "MiB");
    goals.print()
}

fn threads() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Threads:"));
    Ok(line.unwrap_or_default().trim().parse()?)
}
