-- Transcripts of agents: which session one is of, and a digest of when our own logs watched that one.
ALTER TABLE logs ADD COLUMN session TEXT;
ALTER TABLE logs ADD COLUMN covered INTEGER NOT NULL DEFAULT 0;
