//! The index of the logs: sessions, runs, turns, tools, approvals, usage, files, full text.
//!
//! Owns the database beside the logs. The logs are the truth: whatever is here can be thrown away
//! and made again from them. Reads logs, never writes one; starts nothing and prints nothing.
