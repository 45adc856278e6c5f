//! `benches/hook`: what an agent waits for before every tool. The hook command, from start to exit
//! with the answer of a real run, against a program that does nothing and one in Node that does the
//! same; and the run while nobody calls.

use stablehand_benches::agent::{self, Role};
use stablehand_benches::options::{Options, on_path, sibling, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, percentile, ratios, spread};
use stablehand_benches::{Outcome, proc};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What Cursor tells before a command.
const PAYLOAD: &str = r#"{"conversation_id":"6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718","generation_id":"g1","model":"pony-2","session_id":"6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718","hook_event_name":"preToolUse","cursor_version":"2026.09.10","workspace_roots":["/srv/barn"],"user_email":null,"transcript_path":null,"tool_name":"Shell","tool_input":{"command":"cargo test --workspace","working_directory":"/srv/barn","timeout":30000},"tool_use_id":"toolu_01","cwd":"/srv/barn"}"#;

/// The same in Node: read, connect, ask, print.
const SHIM: &str = r#"
const net = require("net");
let payload = "";
process.stdin.on("data", (part) => (payload += part)).on("end", () => {
  const bytes = Buffer.byteLength(payload);
  const call = { v: 1, token: process.env.STABLEHAND_HOOK_RUN, agent: "cursor", event: "preToolUse", bytes };
  const line = net.connect(process.env.STABLEHAND_HOOK_SOCKET, () => line.write(JSON.stringify(call) + "\n" + payload));
  let answer = "";
  line.on("data", (part) => (answer += part)).on("end", () => {
    const { stdout, exit } = JSON.parse(answer);
    process.stdout.write(stdout);
    process.exitCode = exit;
  });
});
"#;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--node", "--idle"])?;
    let folder = work_folder()?;
    let mut goals = Goals::default();
    let run = Running::start(folder.path())?;
    let rounds = options.number("--rounds", 300)?;
    calls(&run, folder.path(), rounds, options.number("--node", 60)?, &mut goals)?;
    at_rest(&run, Duration::from_secs(options.number("--idle", 20)? as u64), &mut goals)?;
    drop(run);
    goals.print()
}

/// A run with hooks, whose agent does nothing.
struct Running {
    child: Child,
    socket: String,
    word: String,
}

impl Running {
    fn start(folder: &Path) -> Outcome<Running> {
        let figures = folder.join("where");
        std::fs::create_dir_all(folder.join("work"))?;
        let child = Command::new(sibling("stablehand")?)
            .args(["run", "-p", "--agent", "cursor", "--hooks", "--policy", "yolo", "--log-dir"])
            .arg(folder.join("logs"))
            .arg("--workspace")
            .arg(folder.join("work"))
            .arg("--agent-bin")
            .arg(sibling("bench-agent")?)
            .arg("measure")
            .env(agent::ROLE, Role::Hooks.name())
            .env(agent::WRITER_REPORT, &figures)
            .env("STABLEHAND_HOME", folder.join("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let began = Instant::now();
        let found = loop {
            match std::fs::read_to_string(&figures) {
                Ok(text) if text.ends_with('\n') => break text,
                _ if began.elapsed() > Duration::from_secs(30) => {
                    return Err("the run with hooks did not begin".into());
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let mut lines = found.lines().map(str::to_owned);
        let (socket, word) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        Ok(Running { child, socket, word })
    }

    /// A hook's process, from start to exit.
    fn time(&self, command: &mut Command, expected: &str) -> Outcome<f64> {
        command.env("STABLEHAND_HOOK_SOCKET", &self.socket).env("STABLEHAND_HOOK_RUN", &self.word);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // `true` reads nothing.
            let _closed = stdin.write_all(PAYLOAD.as_bytes());
        }
        let output = child.wait_with_output()?;
        let taken = began.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains(expected) {
            return Err(format!("{command:?} answered {} `{said}`", output.status).into());
        }
        Ok(taken.as_secs_f64() * 1e3)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        let _over_already = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _over_already = self.child.wait();
    }
}

fn calls(
    run: &Running,
    folder: &Path,
    rounds: usize,
    node_rounds: usize,
    goals: &mut Goals,
) -> Outcome<()> {
    let allow = r#""permission":"allow""#;
    let program = sibling("stablehand-hook")?;
    let shim = folder.join("shim.js");
    std::fs::write(&shim, SHIM)?;
    let node = on_path("node");
    let (mut nothing, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        nothing.push(run.time(&mut Command::new("/bin/true"), "")?);
        let mut hook = Command::new(&program);
        hook.args(["hook", "--agent", "cursor", "--within", "60", "preToolUse"]);
        ours.push(run.time(&mut hook, allow)?);
        if let Some(node) = node.as_ref().filter(|_| round % (rounds / node_rounds).max(1) == 0) {
            theirs.push(run.time(Command::new(node).arg(&shim), allow)?);
        }
    }
    say(format!(
        "one hook, start to exit with its answer, {rounds} interleaved rounds, load {}",
        proc::load()
    ))?;
    let mut table = Table::new(&["program", "p50 ms", "p95 ms", "min ms", "vs /bin/true"]);
    for (name, samples) in
        [("/bin/true", &nothing), ("stablehand-hook", &ours), ("a shim in Node", &theirs)]
    {
        if samples.is_empty() {
            continue;
        }
        table.row([
            name.to_owned(),
            format!("{:.2}", median(samples)),
            format!("{:.2}", percentile(samples, 0.95)),
            format!("{:.2}", percentile(samples, 0.0)),
            spread(&ratios(samples, &nothing)),
        ]);
    }
    table.print()?;
    goals.at_most("hook, p50", median(&ours) / median(&nothing), 2.0, " x /bin/true");
    if theirs.is_empty() {
        goals.unknown("hook, p95 against Node", "node is not installed");
    } else {
        let ratio = percentile(&ours, 0.95) / percentile(&theirs, 0.95);
        goals.at_most("hook, p95", ratio, 0.1, " x a shim in Node");
    }
    Ok(())
}

fn at_rest(run: &Running, watched: Duration, goals: &mut Goals) -> Outcome<()> {
    let pid = run.child.id();
    std::thread::sleep(Duration::from_millis(500));
    let before = proc::cpu_of(pid)?;
    std::thread::sleep(watched);
    let used = proc::cpu_of(pid)?.saturating_sub(before);
    let share = used.as_secs_f64() / watched.as_secs_f64() * 100.0;
    say(format!("a run with hooks while nobody calls, {} s: {share:.3} % CPU", watched.as_secs()))?;
    goals.at_most("idle CPU with hooks", share, 0.1, " %");
    Ok(())
}
