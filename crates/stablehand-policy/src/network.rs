//! Which hosts a command goes to, as far as its words tell.
//!
//! Every word that can be a host is judged. Where an option is in no list, or reads its settings from a
//! file, the hosts are uncertain: every rule that denies matches them, and none that allows.

use super::hazard::net::{CURL, RSYNC, SCP, SSH, WGET};
use super::host::Host;
use super::options::{self, Order, Reading, Role};
use super::shell::{Simple, Word};

/// A host in a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) host: Host,
    /// Whether the command goes there for sure; otherwise it is only mentioned.
    pub(crate) visited: bool,
}

impl Goal {
    fn visited(host: Host) -> Goal {
        Goal { host, visited: true }
    }

    fn unknown() -> Goal {
        Goal::visited(Host::unknown())
    }
}

/// A program that goes to hosts.
struct Row {
    names: &'static str,
    options: &'static str,
    operands: Operands,
    /// Options whose values are hosts or addresses.
    hosts: &'static [&'static str],
    /// Options whose values say more than we can read.
    doubts: &'static [&'static str],
}

/// Which operands are hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Each is an address.
    Addresses,
    /// The first is a host, with or without a user name; a command may follow.
    Login,
    /// Each, but for numbers of ports and types of records.
    Names,
    /// Those like `host:path`.
    Copies,
}

const ROWS: &[Row] = &[
    Row {
        names: "curl",
        options: CURL,
        operands: Operands::Addresses,
        hosts: &[
            "x",
            "proxy",
            "preproxy",
            "proxy1.0",
            "socks4",
            "socks4a",
            "socks5",
            "socks5-hostname",
            "url",
            "doh-url",
            "resolve",
            "connect-to",
            "dns-servers",
            "mail-rcpt",
        ],
        doubts: &[
            "K",
            "config",
            "unix-socket",
            "abstract-unix-socket",
            "interface",
            "hsts",
            "alt-svc",
        ],
    },
    Row {
        names: "wget",
        options: WGET,
        operands: Operands::Addresses,
        hosts: &["B", "base"],
        doubts: &["e", "execute", "i", "input-file", "config"],
    },
    Row {
        names: "http https xh xhs aria2c lynx w3m links elinks",
        options: "-vhb -p: --verbose --headers --body --follow --json --form --version --help",
        operands: Operands::Addresses,
        hosts: &[],
        doubts: &[],
    },
    Row {
        names: "ssh",
        options: SSH,
        operands: Operands::Login,
        hosts: &["J", "W", "L", "R", "o"],
        doubts: &["F"],
    },
    Row {
        names: "mosh telnet ftp sftp",
        options: SCP,
        operands: Operands::Login,
        hosts: &["J", "o"],
        doubts: &["F", "S", "D", "s"],
    },
    Row {
        names: "scp",
        options: SCP,
        operands: Operands::Copies,
        hosts: &["J", "o"],
        doubts: &["F", "S", "D"],
    },
    Row {
        names: "rsync",
        options: RSYNC,
        operands: Operands::Copies,
        hosts: &["address"],
        doubts: &["e", "rsh", "config", "rsync-path", "files-from"],
    },
    Row {
        names: "dig",
        options: "-46mruvh -b: -c: -f: -k: -p: -q: -t: -x: -y: +",
        operands: Operands::Names,
        hosts: &["q", "x", "b"],
        doubts: &["f"],
    },
    Row {
        names: "nc ncat netcat",
        options: "-46bCDdFhklNnrStUuvZz -I: -i: -M: -m: -O: -P: -p: -q: -s: -T: -V: -w: -W: -X: -x: --proxy= --verbose --ssl",
        operands: Operands::Names,
        hosts: &["x", "s", "proxy"],
        doubts: &[],
    },
    Row {
        names: "ping ping6 traceroute tracepath mtr",
        options: "-46aAbBdDfhnOqrRUvVIT -c: -F: -i: -l: -m: -M: -N: -p: -Q: -s: -S: -t: -w: -W:",
        operands: Operands::Names,
        hosts: &["s", "S"],
        doubts: &[],
    },
    Row {
        names: "nslookup host whois socat nmap",
        options: "-aCdlrTvVw46 -c: -h: -N: -R: -t: -W: -m: -p: --verbose",
        operands: Operands::Names,
        hosts: &["h"],
        doubts: &[],
    },
];

const GIT_REMOTE: &[&str] =
    &["clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"];
/// Options of any program whose values are hosts, with or without a scheme.
const HOST_OPTIONS: &[&str] = &[
    "--registry",
    "--index-url",
    "--extra-index-url",
    "--proxy",
    "--https-proxy",
    "--http-proxy",
    "--endpoint-url",
    "--trusted-host",
    "--find-links",
    "--default-index",
    "--index",
    "-i",
];
/// Types of records, which `dig` takes beside names.
const RECORDS: &[&str] =
    &["a", "aaaa", "mx", "ns", "txt", "soa", "cname", "ptr", "srv", "caa", "any", "in", "axfr"];

/// The hosts of a simple command.
pub(crate) fn goals(command: &Simple) -> Vec<Goal> {
    let args = command.words.get(1..).unwrap_or_default();
    let mut goals = Vec::new();
    let assigned =
        args.iter().filter_map(|arg| arg.beginning().split_once('=')).map(|(name, _)| name);
    if command.env.iter().map(String::as_str).chain(assigned).any(leads_elsewhere) {
        goals.push(Goal::unknown());
    }
    let Some(base) = command.base() else { return goals };
    let base = base.as_str();
    let row = ROWS.iter().find(|row| row.names.split(' ').any(|name| name == base));
    let git = base == "git"
        && args.iter().any(|arg| arg.text().is_some_and(|text| GIT_REMOTE.contains(&text)));
    match row {
        Some(row) => by_row(row, base, args, &mut goals),
        None if git => of_git(args, &mut goals),
        None => {}
    }
    for (at, arg) in args.iter().enumerate() {
        let Some(text) = arg.text() else { continue };
        if let Some(url) = address(text) {
            let host = Host::of_url(url);
            if !goals.iter().any(|goal| goal.host == host) {
                goals.push(Goal { host, visited: git });
            }
        } else if let Some((name, value)) = option_value(text, args.get(at + 1))
            && HOST_OPTIONS.contains(&name)
            && looks_like_host(value)
        {
            goals.push(Goal { host: Host::of_url(value), visited: false });
        }
    }
    goals.dedup();
    goals
}

/// The host of `/dev/tcp/host/port`, which the shell itself connects to.
pub(crate) fn device(path: &str) -> Option<Host> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    Some(Host::of_authority(rest.split('/').next().unwrap_or(rest)))
}

/// Variables that send a program to another host than its arguments say.
fn leads_elsewhere(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "hostaliases",
        "localdomain",
        "res_options",
        "wgetrc",
        "curl_home",
        "git_ssh",
        "git_ssh_command",
        "rsync_rsh",
        "rsync_connect_prog",
        "resolv_host_conf",
    ];
    let lower = name.to_ascii_lowercase();
    let part = ["proxy", "registry", "index_url", "extra_index", "default_index"];
    NAMES.contains(&lower.as_str())
        || part.iter().any(|part| lower.contains(part)) && lower != "no_proxy"
        || lower.starts_with("git_config")
}

fn by_row(row: &Row, base: &str, args: &[Word], goals: &mut Vec<Goal>) {
    let order = if row.operands == Operands::Login { Order::First } else { Order::Mixed };
    let lists = [row.options];
    let reading = options::read(&lists, order, args);
    let mut certain = reading.is_certain() && !reading.has(row.doubts);
    of_options(row, &reading, goals);
    let operands: Vec<&Word> = reading.operands().filter_map(|at| args.get(at)).collect();
    match row.operands {
        Operands::Addresses => goals.extend(operands.iter().map(|word| match word.text() {
            Some(text) => Goal::visited(Host::of_url(text)),
            None => Goal::visited(vague(word)),
        })),
        Operands::Login => {
            goals.extend(operands.iter().map(|word| login(word)));
            // `ssh host -J other` reads options behind the host too.
            let rest = args.get(reading.roles.len()..).unwrap_or_default();
            let more = options::read(&lists, Order::First, rest);
            of_options(row, &more, goals);
            certain &= !more.roles.contains(&Role::Unknown) && !more.has(row.doubts);
            if base != "ssh" {
                goals.extend(more.operands().filter_map(|at| rest.get(at)).map(login));
            }
        }
        Operands::Names => {
            for (count, word) in operands.iter().enumerate() {
                let Some(text) = word.text() else {
                    goals.push(Goal::unknown());
                    continue;
                };
                let name = text.trim_start_matches('@').to_lowercase();
                let port = count > 0 && name.chars().all(|c| c.is_ascii_digit() || c == '-');
                let pieces = name.contains([':', ',']) && !name.contains("::");
                if port || RECORDS.contains(&name.as_str()) {
                } else if pieces {
                    pieces_of(&name, goals);
                } else {
                    goals.push(Goal::visited(of_login(&name)));
                }
            }
        }
        Operands::Copies => goals.extend(operands.iter().filter_map(|word| copied(word))),
    }
    if !certain {
        doubt(args, goals);
    }
}

fn of_options(row: &Row, reading: &Reading, goals: &mut Vec<Goal>) {
    for given in reading.given.iter().filter(|given| row.hosts.contains(&given.name.as_str())) {
        let Some(text) = given.value.as_ref().and_then(Word::text) else {
            goals.push(Goal::unknown());
            continue;
        };
        let (key, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        match given.name.as_str() {
            "o" => match key.trim().to_ascii_lowercase().as_str() {
                "hostname" | "proxyjump" => pieces_of(value, goals),
                name if name.contains("command") || name.contains("include") => {
                    goals.push(Goal::unknown());
                }
                _ => {}
            },
            "resolve" | "connect-to" | "L" | "R" | "W" | "J" | "dns-servers" | "mail-rcpt" => {
                pieces_of(text, goals);
            }
            _ => goals.push(Goal::visited(Host::of_url(text))),
        }
    }
}

/// The hosts in a text like `good.com:443:other.com`; none of them is certain.
fn pieces_of(text: &str, goals: &mut Vec<Goal>) {
    let names =
        text.split([':', ',', '/', '=', ' ', '[', ']', '(', ')']).filter(|piece| !piece.is_empty());
    for name in names.map(|piece| piece.rsplit('@').next().unwrap_or(piece)) {
        goals.push(Goal::visited(Host { certain: false, ..Host::of_authority(name) }));
    }
}

/// Every word of a command line whose options are not all known may be a host.
fn doubt(args: &[Word], goals: &mut Vec<Goal>) {
    for text in args.iter().filter_map(Word::text) {
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        let host = Host::of_url(value.trim_start_matches(['-', '@']));
        goals.push(Goal::visited(Host { certain: false, ..host }));
    }
    goals.push(Goal::unknown());
}

fn of_git(args: &[Word], goals: &mut Vec<Goal>) {
    for arg in args {
        let begins = arg.beginning().to_ascii_lowercase();
        if begins.contains("proxy") || begins.contains("insteadof") || begins.contains("sshcommand")
        {
            goals.push(Goal::unknown());
        }
        if !begins.starts_with('-') && arg.text().is_some_and(|text| address(text).is_none()) {
            goals.extend(copied(arg));
        }
    }
}

/// The host of `host:path`.
fn copied(word: &Word) -> Option<Goal> {
    let text = word.beginning();
    if let Some(url) = address(text) {
        return Some(Goal::visited(Host::of_url(url)));
    }
    let (host, _) =
        text.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty())?;
    Some(Goal::visited(of_login(host)))
}

fn login(word: &Word) -> Goal {
    match word.text() {
        Some(text) if text.contains("://") => Goal::visited(Host::of_url(text)),
        Some(text) => Goal::visited(of_login(text)),
        None => Goal::unknown(),
    }
}

/// The name and the value of an option, behind `=` or in the next word.
fn option_value<'a>(text: &'a str, next: Option<&'a Word>) -> Option<(&'a str, &'a str)> {
    if !text.starts_with('-') {
        return None;
    }
    text.split_once('=').or_else(|| Some((text, next?.text()?)))
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
