//! `benches/spawn`: what one run costs besides its stream. From start to first byte, from kill to
//! an empty tree, while it idles, and its memory.

use stablehand_benches::agent::{self, Role};
use stablehand_benches::chain::Chain;
use stablehand_benches::options::{Options, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, percentile, ratios, spread};
use stablehand_benches::{Outcome, proc, spawning};
use std::time::Duration;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--kills", "--idle", "--mb"])?;
    let folder = work_folder()?;
    let chain = Chain::new(folder.path())?;
    let mut goals = Goals::default();
    starts(&chain, options.number("--rounds", 40)?, &mut goals)?;
    kills(&chain, options.number("--kills", 30)?, &mut goals)?;
    let idle = Duration::from_secs(options.number("--idle", 5)? as u64);
    at_rest(&chain, idle, &mut goals)?;
    memory(&chain, folder.path(), options.number("--mb", 1 << 10)?, &mut goals)?;
    goals.print()
}

/// Heap that is really there: each page is written to.
fn touched(megabytes: usize) -> Vec<u8> {
    vec![1; megabytes << 20]
}

fn starts(chain: &Chain, rounds: usize, goals: &mut Goals) -> Outcome<()> {
    let mut taken: [Vec<f64>; 7] = Default::default();
    let mut heap = Vec::new();
    for round in 0..2 * rounds {
        let [plain, keeper, wrap, plain_large, keeper_large, fork_large, fork] = &mut taken;
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        if round % 2 == 0 {
            drop(std::mem::take(&mut heap));
            plain.push(millis(spawning::plain(chain)?));
            keeper.push(millis(spawning::kept(chain)?));
            fork.push(millis(spawning::forked(chain)?));
            wrap.push(millis(spawning::wrapped(chain)?));
        } else {
            heap = touched(500);
            plain_large.push(millis(spawning::plain(chain)?));
            keeper_large.push(millis(spawning::kept(chain)?));
            fork_large.push(millis(spawning::forked(chain)?));
        }
    }
    drop(heap);
    let [plain, keeper, wrap, plain_large, keeper_large, fork_large, fork] = &taken;
    say(format!("start to first byte, {rounds} interleaved rounds, load {}", proc::load()))?;
    let mut table =
        Table::new(&["how", "our heap", "p50 ms", "p95 ms", "min ms", "vs posix_spawn"]);
    for (name, heap, samples) in [
        ("posix_spawn", "0 MB", plain),
        ("fork and exec", "0 MB", fork),
        ("keeper and agent (library)", "0 MB", keeper),
        ("cursor-wrap -p, whole", "0 MB", wrap),
        ("posix_spawn", "500 MB", plain_large),
        ("fork and exec", "500 MB", fork_large),
        ("keeper and agent (library)", "500 MB", keeper_large),
    ] {
        table.row([
            name.to_owned(),
            heap.to_owned(),
            format!("{:.2}", median(samples)),
            format!("{:.2}", percentile(samples, 0.95)),
            format!("{:.2}", percentile(samples, 0.0)),
            spread(&ratios(samples, plain)),
        ]);
    }
    table.print()?;
    let size = median(&ratios(keeper_large, keeper));
    goals.at_most("start with 500 MB of heap vs without", size, 1.5, "x");
    Ok(())
}

fn kills(chain: &Chain, rounds: usize, goals: &mut Goals) -> Outcome<()> {
    let (mut group, mut tree) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        group.push(spawning::group_killed(chain)?.as_secs_f64() * 1e3);
        tree.push(spawning::tree_killed(chain)?.as_secs_f64() * 1e3);
    }
    say(format!("kill to an empty tree, 6 processes, {rounds} interleaved rounds"))?;
    let mut table = Table::new(&["how", "p50 ms", "p95 ms", "min ms", "vs killpg"]);
    for (name, samples) in
        [("killpg, all in one group", &group), ("keeper, two in sessions of their own", &tree)]
    {
        table.row([
            name.to_owned(),
            format!("{:.2}", median(samples)),
            format!("{:.2}", percentile(samples, 0.95)),
            format!("{:.2}", percentile(samples, 0.0)),
            spread(&ratios(samples, &group)),
        ]);
    }
    table.print()?;
    goals.at_most("kill to tree gone, p50", median(&tree), 10.0, " ms");
    Ok(())
}

/// Memory depends on where the system puts programs and who is late, so its figures are medians.
const MEMORY_ROUNDS: usize = 5;

fn mebibytes(pid: u32, field: &str) -> Outcome<f64> {
    Ok(proc::memory_kib(pid, field)? as f64 / 1024.0)
}

fn at_rest(chain: &Chain, watched: Duration, goals: &mut Goals) -> Outcome<()> {
    let mut used = [Vec::new(), Vec::new()];
    let mut memory: [[Vec<f64>; 2]; 2] = Default::default();
    for _ in 0..MEMORY_ROUNDS {
        let mut run = spawning::Open::start(chain, Role::Idle, &[])?;
        run.first_byte()?;
        // What belongs to starting is not idling.
        std::thread::sleep(Duration::from_secs(1));
        let pids = [run.pid(), run.keeper()?];
        let cpu = || Outcome::Ok([proc::cpu_of(pids[0])?, proc::cpu_of(pids[1])?]);
        let before = cpu()?;
        std::thread::sleep(watched / MEMORY_ROUNDS as u32);
        let after = cpu()?;
        for at in 0..2 {
            used[at].push(after[at].saturating_sub(before[at]));
            memory[at][0].push(mebibytes(pids[at], "VmRSS")?);
            memory[at][1].push(mebibytes(pids[at], "VmHWM")?);
        }
        run.stop()?;
        chain.clear_logs()?;
    }
    say(format!("an open run that is silent, {} s in {MEMORY_ROUNDS} runs", watched.as_secs()))?;
    let mut table = Table::new(&["process", "CPU %", "CPU ms", "RSS MiB", "peak RSS MiB"]);
    let mut percent = 0.0;
    for (name, at) in [("cursor-wrap", 0), ("keeper", 1)] {
        let used: Duration = used[at].iter().sum();
        let share = used.as_secs_f64() / watched.as_secs_f64() * 100.0;
        percent += share;
        table.row([
            name.to_owned(),
            format!("{share:.3}"),
            format!("{:.2}", used.as_secs_f64() * 1e3),
            spread(&memory[at][0]),
            spread(&memory[at][1]),
        ]);
    }
    table.print()?;
    goals.at_most("idle CPU of both", percent, 0.5, " %");
    let [wrap, keeper] = &memory;
    goals.at_most("memory of an idle run, RSS", median(&wrap[0]), 15.0, " MiB");
    goals.at_most("memory of an idle run, peak", median(&wrap[1]), 15.0, " MiB");
    goals.at_most("memory of its keeper, RSS", median(&keeper[0]), 3.0, " MiB");
    goals.at_most("memory of its keeper, peak", median(&keeper[1]), 3.0, " MiB");
    Ok(())
}

/// Peak memory along a long stream, whose log grows to the same length on the disk.
fn memory(
    chain: &Chain,
    folder: &std::path::Path,
    megabytes: usize,
    goals: &mut Goals,
) -> Outcome<()> {
    let part = 64 << 20;
    let stream =
        stablehand_benches::stream::Stream::of_bytes(stablehand_benches::stream::Shape::Mix, part);
    let path = folder.join("long.ndjson");
    std::fs::write(&path, &stream.bytes)?;
    let path = path.to_str().ok_or("the temporary folder is not UTF-8")?.to_owned();
    let total = (megabytes as u64) << 20;
    let repeat = (total / part as u64 + 1).to_string();
    let env = [(agent::STREAM, path.as_str()), (agent::WRITES, "block"), (agent::REPEAT, &repeat)];
    let (mut at_first, mut at_last, mut growth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..MEMORY_ROUNDS {
        let mut run = spawning::Open::start(chain, Role::Write, &env)?;
        let (first, last) = peaks(&mut run, part as u64, total)?;
        run.stop()?;
        chain.clear_logs()?;
        at_first.push(first);
        at_last.push(last);
        growth.push(last - first);
    }
    say(format!(
        "peak memory of cursor-wrap along one stream of {megabytes} MiB, {MEMORY_ROUNDS} runs"
    ))?;
    let mut table = Table::new(&["after", "VmHWM MiB"]);
    table.row(["64 MiB".to_owned(), spread(&at_first)]);
    table.row([format!("{megabytes} MiB"), spread(&at_last)]);
    table.print()?;
    goals.at_most("memory of a run at its peak", median(&at_last), 15.0, " MiB");
    goals.at_most("growth from 64 MiB to the end", median(&growth), 2.0, " MiB");
    Ok(())
}

/// Reads a run's stream, and returns its peak memory at `first` and at `total` bytes.
fn peaks(run: &mut spawning::Open, first: u64, total: u64) -> Outcome<(f64, f64)> {
    let wrap = run.pid();
    let (mut at_first, mut at_last, mut read) = (0.0, 0.0, 0u64);
    while read < total {
        let n = run.read()?;
        if n == 0 {
            return Err(format!("the long stream ended after {read} bytes").into());
        }
        let crossed = |mark: u64| read < mark && read + n as u64 >= mark;
        if crossed(first) {
            at_first = mebibytes(wrap, "VmHWM")?;
        }
        if crossed(total) {
            at_last = mebibytes(wrap, "VmHWM")?;
        }
        read += n as u64;
    }
    Ok((at_first, at_last))
}
