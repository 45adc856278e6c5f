//! A call as the parts that are judged one by one.
//!
//! A part either needs a permission of its own (a command, a redirect, the path of a file tool, a
//! host), or is only mentioned (an argument that may be a path): then a rule can forbid it, and
//! none has to allow it.

use super::argument;
use super::call::{Call, World};
use super::folders::Folders;
use super::host::Host;
use super::network;
use super::path::{self, Places};
use super::protect::{self, Reach};
use super::shell::{self, Simple, Word};
use serde_json::Value;
use stablehand_core::event::{ToolInput, ToolKind};

/// One thing to judge.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) what: String,
    pub(crate) facet: Facet,
    /// What is done, beside the kind of the tool itself.
    pub(crate) kind: ToolKind,
    /// Whether it needs a permission, or can only be forbidden.
    pub(crate) needs_permission: bool,
}

/// What a part is about.
#[derive(Clone, Debug)]
pub(crate) enum Facet {
    Command(Simple),
    Path(Places),
    Host(Host),
    Mcp {
        server: String,
        tool: String,
    },
    /// The tool itself.
    Tool,
    /// Something that runs and cannot be judged. `text` says that it is a command line; otherwise it
    /// is a tool of which we do not know what it does.
    Opaque {
        text: bool,
    },
}

/// Commands whose arguments they change.
const WRITERS: &[&str] = &[
    "cp", "mv", "tee", "touch", "mkdir", "ln", "install", "dd", "truncate", "chmod", "chown",
    "chgrp", "rsync", "patch", "mkfifo", "mknod", "setfacl", "chattr", "tar", "unzip", "link",
    "split", "csplit", "sponge", "ditto", "scp", "mount", "umount",
];
const REMOVERS: &[&str] = &["rm", "rmdir", "unlink", "shred", "trash", "srm"];
/// Commands after which a path may lead elsewhere than it does now.
const RESHAPERS: &[&str] =
    &["ln", "mv", "mount", "umount", "tar", "unzip", "rsync", "cp", "git", "link"];

/// Takes a call apart.
pub(crate) fn of(call: &Call<'_>, world: &dyn World) -> Vec<Part> {
    let here = call
        .cwd
        .map_or_else(|| world.workspace().to_owned(), |cwd| path::join(world.workspace(), cwd));
    let tool =
        |what: String| Part { what, facet: Facet::Tool, kind: call.kind, needs_permission: true };
    match call.input {
        ToolInput::Command { command, cwd } => {
            let here = cwd.as_ref().map_or_else(|| here.clone(), |cwd| path::join(&here, cwd));
            command_parts(command, &here, world)
        }
        ToolInput::Path { path } => {
            let mut paths = vec![path.as_str()];
            named_paths(call.arguments, 0, &mut paths);
            place_parts(&paths, call.kind, &here, world)
        }
        ToolInput::Query { query, path } if call.kind != ToolKind::Fetch => {
            let mut paths = vec![path.as_deref().unwrap_or(".")];
            named_paths(call.arguments, 0, &mut paths);
            // A pattern of file names can lead out of the folder that is searched.
            if query.contains("..") || query.starts_with(['/', '~']) {
                paths.push(query);
            }
            place_parts(&paths, call.kind, &here, world)
        }
        ToolInput::Query { query, .. } => vec![tool(format!("search for `{query}`"))],
        ToolInput::Url { url } => {
            let host = Host::of_url(url);
            let what = format!("host {}", host.show());
            vec![Part { what, facet: Facet::Host(host), kind: call.kind, needs_permission: true }]
        }
        ToolInput::Mcp { server, tool } => {
            let facet = Facet::Mcp { server: server.clone(), tool: tool.clone() };
            let what = format!("MCP tool {server}:{tool}");
            vec![Part { what, facet, kind: call.kind, needs_permission: true }]
        }
        ToolInput::SubAgent { .. } | ToolInput::Todos { .. } => {
            vec![tool(format!("tool {}", call.tool))]
        }
        ToolInput::Other { summary } => other_parts(call, summary, &here, world),
        // A form that core knows and this crate does not yet: it may do anything.
        _ => {
            let (what, facet) = (format!("tool {}", call.tool), Facet::Opaque { text: false });
            vec![Part { what, facet, kind: call.kind, needs_permission: true }]
        }
    }
}

/// A tool whose input we could not read: by its kind it may still write or run.
fn other_parts(call: &Call<'_>, summary: &str, here: &str, world: &dyn World) -> Vec<Part> {
    let mut paths = Vec::new();
    named_paths(call.arguments, 0, &mut paths);
    patch_paths(summary, &mut paths);
    patched_paths(call.arguments, 0, &mut paths);
    let what = format!("tool {}", call.tool);
    match call.kind {
        ToolKind::Execute => {
            let facet = Facet::Opaque { text: false };
            vec![Part { what, facet, kind: call.kind, needs_permission: true }]
        }
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move if paths.is_empty() => {
            let facet = Facet::Path(Places::unknown());
            vec![Part { what, facet, kind: call.kind, needs_permission: true }]
        }
        _ if !paths.is_empty() => place_parts(&paths, call.kind, here, world),
        _ => vec![Part { what, facet: Facet::Tool, kind: call.kind, needs_permission: true }],
    }
}

fn verb(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Search => "search in",
        ToolKind::Edit => "write to",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        _ => "use of",
    }
}

fn place_parts(paths: &[&str], kind: ToolKind, here: &str, world: &dyn World) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for path in paths {
        let mut places = Places::of_text(path, &[here.to_owned()], world);
        // A search goes through all that is below.
        places.thorough = matches!(kind, ToolKind::Search | ToolKind::Delete | ToolKind::Move);
        let what = format!("{} {}", verb(kind), places.show());
        if parts.iter().all(|part| part.what != what) {
            parts.push(Part { what, facet: Facet::Path(places), kind, needs_permission: true });
        }
    }
    parts
}

fn command_parts(command: &str, here: &str, world: &dyn World) -> Vec<Part> {
    let script = shell::read(command);
    let mut parts = Vec::new();
    let execute =
        |what: String, facet| Part { what, facet, kind: ToolKind::Execute, needs_permission: true };
    for opaque in &script.opaque {
        parts.push(execute(format!("command: {}", opaque.why), Facet::Opaque { text: true }));
    }
    let folders = Folders::of(&script, here, world);
    parts.extend(elsewhere(here, world));
    parts.extend(folders.changed().iter().filter_map(|folder| elsewhere(folder, world)));
    if folders.lost {
        let places = Places::unknown();
        parts.push(execute("run in an unknown folder".to_owned(), Facet::Path(places)));
    }
    let reshaped = script.commands.iter().any(reshapes);
    for redirect in &script.redirects {
        redirect_parts(redirect, &folders, reshaped, world, &mut parts);
    }
    for simple in &script.commands {
        parts.push(execute(format!("command {}", simple.show()), Facet::Command(simple.clone())));
        mention_parts(simple, &folders, world, &mut parts);
        for goal in network::goals(simple) {
            let what = format!("host {}", goal.host.show());
            let (facet, kind) = (Facet::Host(goal.host), ToolKind::Fetch);
            parts.push(Part { what, facet, kind, needs_permission: goal.visited });
        }
    }
    if parts.is_empty() {
        parts.push(execute("a command that does nothing".to_owned(), Facet::Opaque { text: true }));
    }
    parts
}

/// The folder that a command runs in, where that is not the workspace: `make test` is another command
/// in another folder, whether the agent names that folder or goes there with `cd`.
fn elsewhere(here: &str, world: &dyn World) -> Option<Part> {
    let places = Places::of_text(here, &["/".to_owned()], world);
    if places.certain && places.forms.iter().all(|form| path::is_below(form, world)) {
        return None;
    }
    let what = format!("run in {}", places.show());
    Some(Part { what, facet: Facet::Path(places), kind: ToolKind::Execute, needs_permission: true })
}

/// Whether links or folders may be others after the command.
fn reshapes(simple: &Simple) -> bool {
    match simple.base().as_deref() {
        Some("git") => simple.words.iter().any(|word| {
            matches!(
                word.text(),
                Some(
                    "checkout"
                        | "switch"
                        | "pull"
                        | "merge"
                        | "clone"
                        | "apply"
                        | "stash"
                        | "reset"
                        | "restore"
                        | "rebase"
                )
            )
        }),
        Some(base) => RESHAPERS.contains(&base),
        None => false,
    }
}

fn redirect_parts(
    redirect: &shell::Redirect,
    folders: &Folders,
    reshaped: bool,
    world: &dyn World,
    parts: &mut Vec<Part>,
) {
    const NOWHERE: &[&str] =
        &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];
    if redirect.target.text().is_some_and(|text| NOWHERE.contains(&text)) {
        return;
    }
    if redirect.target.beginning().starts_with("/dev/tcp/")
        || redirect.target.beginning().starts_with("/dev/udp/")
    {
        let host = redirect.target.text().and_then(network::device).unwrap_or_else(Host::unknown);
        let what = format!("host {}", host.show());
        parts.push(Part {
            what,
            facet: Facet::Host(host),
            kind: ToolKind::Fetch,
            needs_permission: true,
        });
    }
    let kind = if redirect.writes { ToolKind::Edit } else { ToolKind::Read };
    let mut places = Places::of_word(&redirect.target, folders.of_shell(), world);
    if folders.may_mislead(&redirect.target) {
        places.drift();
    }
    places.alias(folders.aliased());
    // After `cd $X` or `ln -s` nobody can say now where a path will lead then.
    places.certain &= !reshaped && !folders.lost;
    let what = format!("{} {}", verb(kind), places.show());
    parts.push(Part { what, facet: Facet::Path(places), kind, needs_permission: true });
}

/// Arguments that may be paths: they can be forbidden.
fn mention_parts(simple: &Simple, folders: &Folders, world: &dyn World, parts: &mut Vec<Part>) {
    let base = simple.base().unwrap_or_default();
    let base = base.as_str();
    let in_place = matches!(base, "sed" | "gsed" | "perl")
        && simple
            .words
            .iter()
            .any(|word| word.beginning().starts_with("-i") || word.beginning().starts_with("--in"));
    let reach = protect::reach(simple);
    let removes = REMOVERS.contains(&base) || matches!(base, "mv" | "git");
    let kind = if REMOVERS.contains(&base) {
        ToolKind::Delete
    } else if WRITERS.contains(&base) || in_place {
        ToolKind::Edit
    } else {
        ToolKind::Read
    };
    let thorough = argument::is_thorough(simple);
    let mut add = |word: &Word| {
        let mut places = Places::of_word(word, folders.of_arguments(), world);
        places.thorough = thorough;
        if folders.may_mislead(word) {
            places.drift();
        }
        places.alias(folders.aliased());
        let mut push = |kind: ToolKind, places: Places| {
            let what = format!("{} {}", verb(kind), places.show());
            parts.push(Part { what, facet: Facet::Path(places), kind, needs_permission: false });
        };
        places.removed = removes && (thorough || reach != Reach::Nothing || base == "mv");
        // Of what it may write, only what is protected counts: it reads files by the same options.
        if reach != Reach::Nothing && kind == ToolKind::Read && places.protected(world).is_some() {
            push(ToolKind::Edit, places.clone());
        }
        push(kind, places);
    };
    for word in simple.words.iter().skip(1) {
        argument::paths(base, word).iter().for_each(&mut add);
    }
    if thorough && argument::begins_here(simple) {
        add(&Word::literal("."));
    }
    let touched = match reach {
        Reach::Folder => ".",
        Reach::Repository => ".git/config",
        Reach::Nothing | Reach::Arguments => return,
    };
    let mut places = Places::of_text(touched, folders.of_arguments(), world);
    places.removed = true;
    if places.protected(world).is_some() {
        let what = format!("change files in {}", places.show());
        let (facet, kind) = (Facet::Path(places), ToolKind::Edit);
        parts.push(Part { what, facet, kind, needs_permission: false });
    }
}

/// Names under which tools are given paths.
const PATH_KEYS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filename",
    "targetfile",
    "notebookpath",
    "oldpath",
    "newpath",
    "source",
    "destination",
    "src",
    "dst",
    "from",
    "to",
    "absolutepath",
    "dirpath",
    "directory",
    "targetdirectory",
    "relativeworkspacepath",
    "movepath",
];

/// Deeper arguments are not looked at; tools do not nest paths.
const MAX_ARGUMENT_DEPTH: usize = 6;

fn named_paths<'a>(arguments: &'a Value, depth: usize, paths: &mut Vec<&'a str>) {
    if depth > MAX_ARGUMENT_DEPTH {
        return;
    }
    match arguments {
        Value::Object(members) => {
            for (key, value) in members {
                let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
                if PATH_KEYS.contains(&key.to_lowercase().as_str()) {
                    match value {
                        Value::String(path) => paths.push(path),
                        Value::Array(list) => paths.extend(list.iter().filter_map(Value::as_str)),
                        _ => {}
                    }
                }
                if !value.is_string() {
                    named_paths(value, depth + 1, paths);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| named_paths(value, depth + 1, paths)),
        _ => {}
    }
}

fn patched_paths<'a>(arguments: &'a Value, depth: usize, paths: &mut Vec<&'a str>) {
    match arguments {
        _ if depth > MAX_ARGUMENT_DEPTH => {}
        Value::String(text) => patch_paths(text, paths),
        Value::Object(members) => {
            members.values().for_each(|value| patched_paths(value, depth + 1, paths));
        }
        Value::Array(list) => list.iter().for_each(|value| patched_paths(value, depth + 1, paths)),
        _ => {}
    }
}

/// The files that a patch names.
fn patch_paths<'a>(text: &'a str, paths: &mut Vec<&'a str>) {
    const MARKS: &[&str] =
        &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    for line in text.lines() {
        paths.extend(MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark)));
    }
}
