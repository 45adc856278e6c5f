//! Which hosts a command goes to, as far as its words tell.

use super::host::Host;
use super::shell::{Simple, Word};

/// A host in a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) host: Host,
    /// Whether the command goes there for sure; otherwise it is only mentioned.
    pub(crate) visited: bool,
}

const FETCHERS: &[&str] =
    &["curl", "wget", "http", "https", "xh", "aria2c", "lynx", "w3m", "links"];
const FIRST_OPERAND: &[&str] = &[
    "ssh",
    "sftp",
    "telnet",
    "nc",
    "ncat",
    "netcat",
    "ftp",
    "mosh",
    "ping",
    "ping6",
    "traceroute",
    "dig",
    "nslookup",
    "host",
    "whois",
    "socat",
];
const COPIERS: &[&str] = &["scp", "rsync"];
const GIT_REMOTE: &[&str] =
    &["clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"];
/// Options of `curl` and `wget` without a value; behind any other one a word may be its value.
const VALUELESS: &str = "sSLfIkivgGNOJqRZ0123456n#V";
const VALUELESS_LONG: &[&str] = &[
    "--silent",
    "--show-error",
    "--location",
    "--fail",
    "--head",
    "--insecure",
    "--include",
    "--verbose",
    "--compressed",
    "--quiet",
    "--spider",
    "--no-verbose",
];

/// The hosts of a simple command.
pub(crate) fn goals(command: &Simple) -> Vec<Goal> {
    let Some(base) = command.base() else { return Vec::new() };
    let base = base.as_str();
    let args = command.words.get(1..).unwrap_or_default();
    let mut goals = Vec::new();
    let fetches = FETCHERS.contains(&base);
    let git = base == "git"
        && args.iter().any(|arg| arg.text().is_some_and(|text| GIT_REMOTE.contains(&text)));
    let copies = COPIERS.contains(&base);
    for (at, arg) in args.iter().enumerate() {
        let Some(text) = arg.text() else {
            if fetches && !arg.beginning().starts_with('-') {
                goals.push(Goal { host: vague(arg), visited: true });
            }
            continue;
        };
        if let Some(url) = address(text) {
            goals.push(Goal { host: Host::of_url(url), visited: fetches || git || copies });
        } else if fetches && !text.starts_with('-') {
            let before = at.checked_sub(1).and_then(|at| args.get(at)).map_or("", Word::beginning);
            let value = before.starts_with('-')
                && !VALUELESS_LONG.contains(&before)
                && !before
                    .strip_prefix('-')
                    .is_some_and(|c| c.chars().all(|c| VALUELESS.contains(c)));
            if !value || looks_like_host(text) {
                goals.push(Goal { host: Host::of_url(text), visited: !value });
            }
        } else if (git || copies)
            && !text.starts_with('-')
            && let Some((host, _)) =
                text.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty())
        {
            goals.push(Goal { host: of_login(host), visited: true });
        }
    }
    if FIRST_OPERAND.contains(&base)
        && let Some(goal) = first_operand(base, args)
    {
        goals.push(goal);
    }
    goals.dedup();
    goals
}

/// The host of `/dev/tcp/host/port`, which the shell itself connects to.
pub(crate) fn device(path: &str) -> Option<Host> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    Some(Host::of_authority(rest.split('/').next().unwrap_or(rest)))
}

/// An address within a word, from its scheme on.
fn address(text: &str) -> Option<&str> {
    let at = text.find("://")?;
    let scheme = text.get(..at)?;
    let begin = scheme
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
        .map_or(0, |i| i + 1);
    text.get(begin..)
}

fn vague(word: &Word) -> Host {
    let beginning = word.beginning();
    match beginning.split_once("://") {
        // The host ends before the hole begins.
        Some((_, rest)) if rest.contains('/') => Host { certain: false, ..Host::of_url(beginning) },
        _ => Host::unknown(),
    }
}

fn of_login(text: &str) -> Host {
    Host::of_authority(text.rsplit('@').next().unwrap_or(text))
}

fn looks_like_host(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or(text);
    (host.contains('.') || host.starts_with("localhost"))
        && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'))
}

/// The first word that is no option. Where an option before it may have taken it as its value, every
/// word may be the host, and none is certain.
fn first_operand(base: &str, args: &[Word]) -> Option<Goal> {
    const VALUES_OF_SSH: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let mut doubtful = false;
    let mut skip = false;
    let mut names = Vec::new();
    for arg in args {
        let Some(text) = arg.text() else {
            return Some(Goal { host: Host::unknown(), visited: true });
        };
        if std::mem::take(&mut skip) {
            continue;
        }
        match text.strip_prefix(['-', '+', '@']) {
            Some(letters) if matches!(base, "ssh" | "sftp") => {
                let value = letters.find(|c| VALUES_OF_SSH.contains(c));
                skip = value.is_some_and(|at| at + 1 == letters.len());
            }
            Some(_) => doubtful = true,
            None if doubtful => names.extend(of_login(text).names),
            None => return Some(Goal { host: of_login(text), visited: true }),
        }
    }
    let host = Host { names, port: None, certain: false };
    doubtful.then_some(Goal { host, visited: true })
}
