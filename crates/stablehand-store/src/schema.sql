-- The index of the logs. Everything here follows from them and can be made again.

CREATE TABLE logs (
    id         INTEGER PRIMARY KEY,      -- by the second in which it began: higher is newer
    source     TEXT NOT NULL,            -- 'log', or the agent whose own transcript it is
    key        TEXT NOT NULL UNIQUE,     -- who it is, whatever it is called
    path       TEXT NOT NULL,
    inode      INTEGER NOT NULL,
    size       INTEGER NOT NULL,         -- of the file, when it was last looked at
    mtime_ms   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,         -- so far its rows are here
    skipped    INTEGER NOT NULL,         -- lines that were no records
    indexed_ms INTEGER NOT NULL,
    state      TEXT                      -- how reading goes on; for whoever indexes
);
CREATE INDEX logs_path ON logs (path);

-- Files among the logs that add nothing: empty ones, and copies of a log that is here.
CREATE TABLE strays (
    path     TEXT PRIMARY KEY,
    inode    INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ms INTEGER NOT NULL,
    log      INTEGER                     -- whose copy it is
) WITHOUT ROWID;
CREATE INDEX strays_log ON strays (log);

CREATE TABLE runs (
    log           INTEGER NOT NULL,
    run           INTEGER NOT NULL,
    run_id        TEXT NOT NULL,
    chat          TEXT NOT NULL,         -- the session, or the run where it named none
    source        TEXT NOT NULL,
    agent         TEXT NOT NULL,
    agent_version TEXT,
    session       TEXT,
    resumed_from  TEXT,
    model         TEXT,
    workspace     TEXT,
    title         TEXT,
    started       INTEGER NOT NULL,      -- times are milliseconds since 1970
    last          INTEGER NOT NULL,
    ended         INTEGER,
    outcome       TEXT,
    ended_by      TEXT,
    failure       TEXT,
    verdict       TEXT,
    exit_code     INTEGER,
    note          TEXT,
    turns         INTEGER NOT NULL,
    tools         INTEGER NOT NULL,
    tools_failed  INTEGER NOT NULL,
    questions     INTEGER NOT NULL,
    retries       INTEGER NOT NULL,
    events        INTEGER NOT NULL,
    input         INTEGER,               -- tokens; null where the agent states none
    output        INTEGER,
    cache_read    INTEGER,
    cache_write   INTEGER,
    reasoning     INTEGER,
    cost_usd      REAL,
    tool_ms       INTEGER NOT NULL,
    wait_ms       INTEGER NOT NULL,
    model_ms      INTEGER NOT NULL,
    silence_ms    INTEGER NOT NULL,
    PRIMARY KEY (log, run)
) WITHOUT ROWID;
CREATE INDEX runs_chat ON runs (chat, agent);
CREATE INDEX runs_started ON runs (started);
CREATE INDEX runs_run_id ON runs (run_id);

CREATE TABLE turns (
    log         INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    ended       INTEGER,
    "end"       TEXT,
    failure     TEXT,
    agent_ms    INTEGER,
    input       INTEGER,
    output      INTEGER,
    cache_read  INTEGER,
    cache_write INTEGER,
    reasoning   INTEGER,
    cost_usd    REAL,
    PRIMARY KEY (log, run, turn)
) WITHOUT ROWID;

CREATE TABLE tools (
    log        INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    tool       INTEGER NOT NULL,
    turn       INTEGER,
    call       TEXT NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    started    INTEGER NOT NULL,
    ended      INTEGER,
    outcome    TEXT,
    exit_code  INTEGER,
    agent_ms   INTEGER,
    background INTEGER NOT NULL,
    PRIMARY KEY (log, run, tool)
) WITHOUT ROWID;
CREATE INDEX tools_name ON tools (name);

CREATE TABLE questions (
    log       INTEGER NOT NULL,
    question  INTEGER NOT NULL,
    run       INTEGER NOT NULL,
    time      TEXT NOT NULL,
    tool      TEXT,
    kind      TEXT,
    target    TEXT,
    asked     INTEGER NOT NULL,
    outcome   TEXT NOT NULL,
    "by"      TEXT,
    waited_ms INTEGER,
    entry     TEXT NOT NULL,             -- all of it, as JSON
    PRIMARY KEY (log, question)
) WITHOUT ROWID;

CREATE TABLE verdicts (
    log           INTEGER NOT NULL,
    run           INTEGER NOT NULL,
    verdict       INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    silence_ms    INTEGER,
    limit_ms      INTEGER,
    observed_only INTEGER NOT NULL,
    false_alarm   INTEGER,               -- null where nobody can know
    PRIMARY KEY (log, run, verdict)
) WITHOUT ROWID;

CREATE TABLE files (
    log   INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    path  TEXT NOT NULL,
    how   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (log, run, path, how)
) WITHOUT ROWID;
CREATE INDEX files_path ON files (path);

-- id = log << 32 | number of the passage in the log: the newest log has the highest ids, so that
-- "newest first" is the order of the index of words itself.
CREATE TABLE passages (
    id   INTEGER PRIMARY KEY,
    run  INTEGER NOT NULL,
    turn INTEGER,
    tool INTEGER,
    kind TEXT NOT NULL,
    at   INTEGER NOT NULL,
    text TEXT NOT NULL
);
-- A search in prompts only leaps from prompt to prompt.
CREATE INDEX passages_kind ON passages (kind);
CREATE VIRTUAL TABLE words USING fts5(
    text, content = 'passages', content_rowid = 'id',
    tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
);
