//! The binaries from outside: real processes, a scripted agent, exit codes, bytes and logs.
//!
//! One test binary, because linking is what takes time. Each module owns one promise; `support` has
//! what they share. Every process under test has a deadline and every test ends with a census: a
//! fault may fail a test, never hang it or leave a process.

#[cfg(test)]
mod acp_command;
#[cfg(test)]
mod acp_serve;
#[cfg(test)]
mod acp_services;
#[cfg(test)]
mod acp_through;
#[cfg(test)]
mod again;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod args;
#[cfg(test)]
mod criteria;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod fake_agent;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod hook_files;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod import;
#[cfg(test)]
mod interactive;
#[cfg(test)]
mod log;
#[cfg(test)]
mod manage;
#[cfg(test)]
mod max_output;
#[cfg(test)]
mod not_utf8;
mod old_logs;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod post_mortem;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod prompt_input;
#[cfg(test)]
mod prompt_rules;
#[cfg(test)]
mod redact;
#[cfg(test)]
mod reindex;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod rerun;
#[cfg(test)]
mod run;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod status_line;
#[cfg(test)]
mod storage;
#[cfg(test)]
mod support;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod text_mode;
#[cfg(test)]
mod timeline;
#[cfg(test)]
mod wrap;
