//! Transcripts of agents in the index: found, read, counted once, and left as they are.

use rusqlite::Connection;
use stablehand_core::record::DecisionKind;
use stablehand_store::{Budget, IMPORTS, Source, Store, each_transcript, survey};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

type Any = Result<(), Box<dyn std::error::Error>>;

fn fixtures(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/transcripts").join(agent)
}

/// Folders of agents with the recordings in them, as the agents would have them.
struct Place {
    root: tempfile::TempDir,
    logs: PathBuf,
}

impl Place {
    fn new() -> std::io::Result<Place> {
        let root = tempfile::tempdir()?;
        let logs = root.path().join("logs");
        std::fs::create_dir(&logs)?;
        let place = Place { root, logs };
        let files = [
            ("claude", "parallel", "claude/projects/-home-rider-stable/5ed8c9f2.jsonl"),
            ("claude", "delegate", "claude/projects/-home-rider-stable/2cf30200.jsonl"),
            (
                "claude",
                "sub-agent",
                "claude/projects/-home-rider-stable/2cf30200/subagents/agent-1.jsonl",
            ),
            ("codex", "shell", "codex/sessions/2026/11/16/rollout-2026-11-16T23-09-27-1.jsonl"),
            (
                "gemini",
                "resumed",
                "gemini/tmp/stable/chats/session-2026-11-16T23-10-ec34417b.jsonl",
            ),
        ];
        for (agent, scene, to) in files {
            place.put(to, &std::fs::read(fixtures(agent).join(format!("{scene}.jsonl")))?)?;
        }
        place.put("gemini/tmp/stable/.project_root", b"/home/rider/stable")?;
        place.put("gemini/tmp/stable/logs.json", b"[]")?;
        place.put("codex/sessions/2026/11/16/notes.jsonl", b"{}")?;
        Ok(place)
    }

    fn put(&self, to: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
        let path = self.root.path().join(to);
        std::fs::create_dir_all(path.parent().unwrap_or(self.root.path()))?;
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    fn source(&self, agent: &str, below: &str) -> Source {
        Source { agent: agent.to_owned(), folder: self.root.path().join(agent).join(below) }
    }

    fn sources(&self) -> Vec<Source> {
        vec![
            self.source("claude", "projects"),
            self.source("codex", "sessions"),
            self.source("gemini", "tmp"),
        ]
    }

    /// Everything outside of the folder of the logs: names, sizes, times, contents.
    fn tree(&self) -> Vec<(PathBuf, u64, i64, i64, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path == self.logs {
                    continue;
                }
                let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
                if about.is_dir() {
                    folders.push(path.clone());
                }
                let bytes = if about.is_file() { std::fs::read(&path) } else { Ok(Vec::new()) };
                let bytes = bytes.unwrap_or_default();
                found.push((path, about.len(), about.mtime(), about.mtime_nsec(), bytes));
            }
        }
        found.sort();
        found
    }
}

/// Everything in the index but when it was put there and under which number.
fn content(store: &Store) -> rusqlite::Result<Vec<String>> {
    let queries = [
        "SELECT run_id || ' ' || chat || ' ' || source || ' ' || agent || ' ' || ifnull(model, '-')
             || ' ' || ifnull(workspace, '-') || ' ' || ifnull(title, '-') || ' ' || ifnull(outcome, '-')
             || ' ' || turns || ' ' || tools || ' ' || ifnull(output, '-') || ' ' || started
         FROM runs ORDER BY 1",
        "SELECT run_id || ' ' || tools.name || ' ' || target || ' ' || ifnull(tools.outcome, '-')
             || ' ' || tools.started
         FROM tools JOIN runs USING (log, run) ORDER BY 1",
        "SELECT kind || ' ' || at || ' ' || text FROM passages ORDER BY 1",
        "SELECT count(*) || ' words' FROM words",
    ];
    let mut all = Vec::new();
    for query in queries {
        let mut find = store.database().prepare(query)?;
        let rows = find.query_map([], |row| row.get::<_, String>(0))?;
        all.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(all)
}

fn runs(store: &Store) -> rusqlite::Result<Vec<(String, String, i64)>> {
    let mut find =
        store.database().prepare("SELECT source, chat, turns FROM runs ORDER BY source, run_id")?;
    find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

#[test]
fn transcripts_get_into_the_index_and_stay_as_they_are() -> Any {
    let place = Place::new()?;
    let before = place.tree();
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&place.sources())?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!((done.indexed, done.unreadable.len()), (5, 0), "{done:?}");
    assert_eq!(place.tree(), before);
    let delegated = "2cf30200-bbb4-4156-b6da-a4cb68ae6b61".to_owned();
    let expected = [
        ("claude", delegated.clone(), 2),
        ("claude", "5ed8c9f2-1864-4da1-98f4-df7fe018c0fc".to_owned(), 1),
        // A sub-agent is another run of the session that it works for.
        ("claude", delegated, 1),
        ("codex", "01a1e69f-61a0-7052-837d-4232484e9745".to_owned(), 1),
        ("gemini", "ec34417b-d704-47b3-a917-0683cf330a1e".to_owned(), 2),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(source, chat, turns)| (source.to_owned(), chat, turns))
        .collect();
    assert_eq!(runs(&store)?, expected);
    // Nothing is read twice.
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0);
    // The index made anew has the same in it: another process, no database.
    let first = content(&store)?;
    assert_eq!(first.iter().filter(|row| row.contains("echo trot")).count(), 2);
    drop(store);
    for ending in ["", "-wal", "-shm"] {
        let _missing = std::fs::remove_file(place.logs.join(format!("index.sqlite{ending}")));
    }
    let mut store = Store::open(&place.logs)?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(content(&store)?, first);
    drop(store);
    let (mut store, _) = Store::reindex(&place.logs, &mut |_| {})?;
    assert_eq!(content(&store)?, first);
    assert!(place.logs.join(IMPORTS).exists());
    // What is not wanted any more goes.
    store.drop_imports(&["claude".to_owned(), "codex".to_owned()])?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.forgotten, 4);
    assert_eq!(runs(&store)?.len(), 1);
    Ok(())
}

#[test]
fn a_transcript_that_grows_or_goes_is_followed() -> Any {
    let place = Place::new()?;
    let to = "codex/sessions/2026/11/16/rollout-2026-11-16T23-09-26-2.jsonl";
    let all = std::fs::read(fixtures("codex").join("resumed.jsonl"))?;
    let half = all.windows(14).position(|it| it == b"\"task_complete").unwrap_or(0);
    let half = half + all[half..].iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
    // An agent that writes at this moment.
    let path = place.put(to, &all[..half + 30])?;
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&[place.source("codex", "sessions")])?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 2);
    let turns = |store: &Store| -> rusqlite::Result<i64> {
        let query = "SELECT turns FROM runs WHERE chat = '01a1e69f-5f60-7b13-a789-cd1477177028'";
        store.database().query_row(query, [], |row| row.get(0))
    };
    assert_eq!(turns(&store)?, 1);
    place.put(to, &all)?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 1);
    assert_eq!(turns(&store)?, 2);
    std::fs::remove_file(path)?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.forgotten, 1);
    // A disk that is not there is no reason to forget what was on it.
    std::fs::rename(place.root.path().join("codex"), place.root.path().join("away"))?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!((done.forgotten, done.unreadable.len()), (0, 1));
    assert_eq!(runs(&store)?.len(), 1);
    Ok(())
}

/// A log of the second turn of the chat in `gemini/resumed`.
fn log_of_second_turn() -> String {
    let session = "ec34417b-d704-47b3-a917-0683cf330a1e";
    let times = (1_794_870_615_000_i64, 1_794_870_616_800_i64);
    let opened = DecisionKind::LogOpened.name();
    format!(
        r#"{{"level":"DEBUG","msg":"{opened}","ts":{0},"v":1,"log":"l1","program":"stablehand","dialect":"gemini"}}
{{"level":"INFO","msg":"agent_spawned","ts":{0},"run":"r1","agent":"gemini","cwd":"/home/rider/stable"}}
{{"level":"DEBUG","msg":"raw_event","recv_ts":{0},"raw":{{"type":"init","session_id":"{session}","model":"m"}}}}
{{"level":"DEBUG","msg":"raw_event","recv_ts":{1},"raw":{{"type":"message","role":"user","content":"What is the pony called?"}}}}
{{"level":"DEBUG","msg":"raw_event","recv_ts":{1},"raw":{{"type":"result","status":"success"}}}}
{{"level":"INFO","msg":"run_ended","ts":{1},"outcome":"success","session_id":"{session}"}}
"#,
        times.0, times.1
    )
}

#[test]
fn what_one_of_our_logs_has_is_counted_once() -> Any {
    let place = Place::new()?;
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&[place.source("gemini", "tmp")])?;
    store.refresh(Budget::UNLIMITED)?;
    let (log, gemini) = ("log".to_owned(), "gemini".to_owned());
    let chat = "ec34417b-d704-47b3-a917-0683cf330a1e".to_owned();
    let alone = content(&store)?;
    assert_eq!(runs(&store)?, [(gemini.clone(), chat.clone(), 2)]);
    let path = place.logs.join("a.jsonl");
    std::fs::write(&path, log_of_second_turn())?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(runs(&store)?, [(gemini, chat.clone(), 1), (log, chat, 1)]);
    let asked = "SELECT count(*) FROM passages WHERE kind = 'prompt' AND text LIKE 'What is%'";
    let asked: i64 = store.database().query_row(asked, [], |row| row.get(0))?;
    assert_eq!(asked, 1);
    let both = content(&store)?;
    drop(store);
    let (mut store, _) = Store::reindex(&place.logs, &mut |_| {})?;
    assert_eq!(content(&store)?, both);
    // Without the log, the transcript is all there is again.
    std::fs::remove_file(path)?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(content(&store)?, alone);
    Ok(())
}

/// The tables of OpenCode's database, as far as they are read, with a recorded session in them.
fn database(path: &Path, scenes: &[&str]) -> Result<Connection, Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
             version TEXT, time_created INTEGER, time_updated INTEGER);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
             time_updated INTEGER, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
             time_created INTEGER, time_updated INTEGER, data TEXT);",
    )?;
    for scene in scenes {
        insert(&db, scene)?;
    }
    Ok(db)
}

fn insert(db: &Connection, scene: &str) -> Any {
    let text = std::fs::read_to_string(fixtures("opencode").join(format!("{scene}.jsonl")))?;
    let mut session = String::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let word = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let (id, at, data) = (word(&line["id"]), line["at"].as_i64(), &line["data"]);
        match line["stored"].as_str() {
            Some("session") => {
                session = id.clone().unwrap_or_default();
                let about = |key: &str| word(&data[key]);
                db.execute(
                    "INSERT INTO session VALUES (?,?,?,?,?,?,?)",
                    (
                        id,
                        about("parentID"),
                        about("directory"),
                        about("title"),
                        about("version"),
                        at,
                        at,
                    ),
                )?;
            }
            Some("message") => {
                let values = (id, &session, at, at, data.to_string());
                db.execute("INSERT INTO message VALUES (?,?,?,?,?)", values)?;
            }
            _ => {
                let values = (id, word(&line["message"]), &session, at, at, data.to_string());
                db.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", values)?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_database_is_read_without_a_trace() -> Any {
    let place = Place::new()?;
    let path = place.root.path().join("opencode/opencode.db");
    // The agent is at work: what it wrote is in the log beside the database.
    let agent = database(&path, &["shell", "delegate", "sub-agent"])?;
    assert!(place.tree().iter().any(|it| it.0.ends_with("opencode.db-wal") && it.1 > 0));
    let before = place.tree();
    let source = place.source("opencode", "");
    let found = survey(&source, &place.logs);
    assert_eq!((found.files, found.sessions, found.turns), (1, 2, 4), "{found:?}");
    let mut store = Store::open(&place.logs)?;
    store.add_imports(std::slice::from_ref(&source))?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!((done.indexed, done.unreadable.len()), (3, 0), "{done:?}");
    assert_eq!(place.tree(), before);
    assert_eq!(runs(&store)?.len(), 3);
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0);
    // Another session, and only that one is read.
    insert(&agent, "failing-tool")?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 1);
    // The agent has ended: no log beside the database, and none is made.
    agent.close().map_err(|(_, error)| error)?;
    let before = place.tree();
    assert!(!before.iter().any(|it| it.0.ends_with("opencode.db-wal")));
    let kept = content(&store)?;
    drop(store);
    let (mut store, _) = Store::reindex(&place.logs, &mut |_| {})?;
    assert_eq!(content(&store)?, kept);
    assert_eq!(place.tree(), before);
    let copies = std::fs::read_dir(&place.logs)?.flatten();
    assert!(copies.into_iter().all(|it| !it.file_name().to_string_lossy().starts_with(".import")));
    // No database any more: said, and what was known stays.
    std::fs::write(&path, b"SQLite format 3\0 not really")?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!((done.forgotten, done.unreadable.len()), (0, 1), "{done:?}");
    Ok(())
}

#[test]
fn what_was_imported_is_read_again_as_it_was() -> Any {
    let place = Place::new()?;
    let path = place.root.path().join("opencode/opencode.db");
    // The agent is at work, so that the database is copied to be read.
    let agent = database(&path, &["shell", "delegate", "sub-agent"])?;
    let mut sources = place.sources();
    sources.push(place.source("opencode", ""));
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&sources)?;
    store.refresh(Budget::UNLIMITED)?;
    let mut wanted = Vec::new();
    for source in &sources {
        each_transcript(source, &place.logs, |it| wanted.push((it.path, it.events)));
    }
    let named = store.named("")?;
    assert_eq!((named.len(), wanted.len()), (8, 8), "{named:#?}");
    for run in &named {
        let original = run.original.as_ref().ok_or("it was imported")?;
        let mut events = Vec::new();
        original.each_event(&place.logs, |at, kind| {
            events.push((at, kind));
            true
        })?;
        let is_same = |it: &(PathBuf, Vec<_>)| *it == (run.path.clone(), events.clone());
        let at = wanted.iter().position(is_same).ok_or_else(|| format!("{run:?}"))?;
        wanted.remove(at);
        // Enough is enough.
        let mut count = 0;
        original.each_event(&place.logs, |_, _| {
            count += 1;
            count < 2
        })?;
        assert_eq!(count, 2);
    }
    // By its beginning, by the session and by the run; and nothing else.
    let runs = |which: &str| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        Ok(store.named(which)?.into_iter().map(|it| it.run).collect())
    };
    assert_eq!(runs("2cf3")?, ["2cf30200", "agent-1"]);
    assert_eq!(runs("2cf30200-bbb4-4156-b6da-a4cb68ae6b61")?.len(), 2);
    assert_eq!(runs("agent-1")?, ["agent-1"]);
    assert_eq!(runs("agent-11")?.len(), 0);
    assert!(store.outdated()?.is_empty());
    drop(agent);
    // A link in its place is not followed.
    let file = place.root.path().join("claude/projects/-home-rider-stable/2cf30200/subagents");
    std::fs::rename(file.join("agent-1.jsonl"), place.root.path().join("elsewhere"))?;
    std::os::unix::fs::symlink(place.root.path().join("elsewhere"), file.join("agent-1.jsonl"))?;
    let linked = store.named("agent-1")?.pop().and_then(|it| it.original).ok_or("known")?;
    assert!(linked.each_event(&place.logs, |_, _| true).is_err());
    Ok(())
}

/// Before it had a database, every message and part was a file. Both may be there.
#[test]
fn a_tree_of_files_is_read_and_the_database_wins() -> Any {
    let place = Place::new()?;
    let text = std::fs::read_to_string(fixtures("opencode").join("shell.jsonl"))?;
    let mut session = String::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let id = word("id");
        let mut data = line["data"].clone();
        let to = match line["stored"].as_str() {
            Some("session") => {
                session = id.clone();
                data["time"] = serde_json::json!({"created": line["at"]});
                format!("session/global/{id}.json")
            }
            Some("message") => format!("message/{session}/{id}.json"),
            _ => format!("part/{}/{id}.json", word("message")),
        };
        data["id"] = id.into();
        place.put(&format!("opencode/storage/{to}"), data.to_string().as_bytes())?;
    }
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&[place.source("opencode", "")])?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 1);
    let as_files = content(&store)?;
    assert_eq!(
        as_files.iter().filter(|row| row.contains("echo neigh")).count(),
        2,
        "{as_files:#?}"
    );
    let db = database(&place.root.path().join("opencode/opencode.db"), &["shell"])?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!((done.indexed, done.forgotten), (1, 1));
    assert_eq!(runs(&store)?.len(), 1);
    drop(db);
    Ok(())
}

#[test]
fn odd_files_and_links_do_no_harm() -> Any {
    let place = Place::new()?;
    let folder = place.root.path().join("claude/projects");
    std::os::unix::fs::symlink(&folder, folder.join("around"))?;
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.jsonl"))?;
    std::fs::create_dir(folder.join("folder.jsonl"))?;
    place.put("claude/projects/empty.jsonl", b"")?;
    place.put("claude/projects/binary.jsonl", &[0xff, 0xfe, b'\n', 0, b'{'])?;
    let mut huge = br#"{"type":"user","message":{"role":"user","content":""#.to_vec();
    huge.resize(9 << 20, b'x');
    place.put("claude/projects/huge.jsonl", &huge)?;
    place.put("codex/sessions/rollout-1.jsonl.zst", b"not packed")?;
    // `{"timestamp":…,"type":"event_msg","payload":{"type":"user_message","message":"packed hay"}}`
    let line = br#"{"timestamp":"2026-11-16T10:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"packed hay"}}"#;
    place.put("codex/sessions/rollout-2.jsonl.zst", &stored_frame(line))?;
    let mut store = Store::open(&place.logs)?;
    store.add_imports(&place.sources())?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!(done.unreadable.len(), 1, "{:?}", done.unreadable);
    let packed = "SELECT count(*) FROM words WHERE words MATCH '\"packed hay\"'";
    assert_eq!(store.database().query_row(packed, [], |row| row.get::<_, i64>(0))?, 1);
    Ok(())
}

/// A frame of Zstandard with one block that is not packed; of less than 256 bytes.
fn stored_frame(bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or_default();
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
    frame.extend(block.iter().take(3));
    frame.extend(bytes);
    frame
}
