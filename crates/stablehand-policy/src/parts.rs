//! A call as the parts that are judged one by one.
//!
//! A part either needs a permission of its own (a command, a redirect, the path of a file tool, a
//! host), or is only mentioned (an argument that may be a path): then a rule can forbid it, and
//! none has to allow it.

use super::argument;
use super::call::{Call, World};
use super::folders::Folders;
use super::host::Host;
use super::inner;
use super::network;
use super::path::{self, Places};
use super::protect::{self, Reach};
use super::shell::{self, Simple, Word};
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
    let mut parts = input_parts(call, call.input, &here, world);
    for also in call.also {
        let more = match also {
            ToolInput::Query { query, path } if call.kind != ToolKind::Fetch => {
                vec![pattern_part(query, path.as_deref(), call.kind, &here, world)]
            }
            input => input_parts(call, input, &here, world),
        };
        for part in more {
            if parts.iter().all(|known| known.what != part.what) {
                parts.push(part);
            }
        }
    }
    parts
}

fn input_parts(call: &Call<'_>, input: &ToolInput, here: &str, world: &dyn World) -> Vec<Part> {
    let tool =
        |what: String| Part { what, facet: Facet::Tool, kind: call.kind, needs_permission: true };
    match input {
        ToolInput::Command { command, cwd } => {
            let here = cwd.as_ref().map_or_else(|| here.to_owned(), |cwd| path::join(here, cwd));
            command_parts(command, &here, world)
        }
        ToolInput::Path { path } => vec![place_part(path, call.kind, here, world)],
        ToolInput::Query { query, path } if call.kind != ToolKind::Fetch => {
            let path = path.as_deref();
            let mut parts = vec![place_part(path.unwrap_or("."), call.kind, here, world)];
            // A pattern of file names can lead out of the folder that is searched.
            if query.contains("..") || query.starts_with(['/', '~']) {
                parts.push(pattern_part(query, path, call.kind, here, world));
            }
            parts
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
        ToolInput::Other { .. } => other_parts(call),
        // A form that core knows and this crate does not yet: it may do anything.
        _ => {
            let (what, facet) = (format!("tool {}", call.tool), Facet::Opaque { text: false });
            vec![Part { what, facet, kind: call.kind, needs_permission: true }]
        }
    }
}

/// A tool whose input we could not read: by its kind it may still write or run. Where it names places,
/// these are judged instead.
fn other_parts(call: &Call<'_>) -> Vec<Part> {
    let facet = match call.kind {
        ToolKind::Execute => Facet::Opaque { text: false },
        _ if !call.also.is_empty() => return Vec::new(),
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => Facet::Path(Places::unknown()),
        _ => Facet::Tool,
    };
    vec![Part {
        what: format!("tool {}", call.tool),
        facet,
        kind: call.kind,
        needs_permission: true,
    }]
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

fn place_part(path: &str, kind: ToolKind, here: &str, world: &dyn World) -> Part {
    let mut places = Places::of_text(path, &[here.to_owned()], world);
    // A search goes through all that is below.
    places.thorough = matches!(kind, ToolKind::Search | ToolKind::Delete | ToolKind::Move);
    let what = format!("{} {}", verb(kind), places.show());
    Part { what, facet: Facet::Path(places), kind, needs_permission: true }
}

/// Files by a pattern of their names. The folder that is searched needs the permission, unless the
/// pattern leads out of it.
fn pattern_part(
    pattern: &str,
    folder: Option<&str>,
    kind: ToolKind,
    here: &str,
    world: &dyn World,
) -> Part {
    let here = folder.map_or_else(|| here.to_owned(), |folder| path::join(here, folder));
    let given = shell::unquoted(pattern, /* first */ true);
    let places = Places::of_word(&given, &[here], world);
    let needs_permission =
        kind != ToolKind::Search || pattern.contains("..") || pattern.starts_with(['/', '~']);
    let what = format!("{} {}", verb(kind), places.show());
    Part { what, facet: Facet::Path(places), kind, needs_permission }
}

fn command_parts(command: &str, here: &str, world: &dyn World) -> Vec<Part> {
    let script = shell::read(command);
    let mut parts = Vec::new();
    let execute =
        |what: String, facet| Part { what, facet, kind: ToolKind::Execute, needs_permission: true };
    for opaque in &script.opaque {
        parts.push(execute(format!("command: {}", opaque.why), Facet::Opaque { text: true }));
    }
    // `<>` is not in the grammar, and the shell makes a connection of such a file by any redirect.
    let connects = command.contains("/dev/tcp/") || command.contains("/dev/udp/");
    if connects && !script.opaque.is_empty() {
        let (host, kind) = (Host::unknown(), ToolKind::Fetch);
        let what = format!("host {}", host.show());
        parts.push(Part { what, facet: Facet::Host(host), kind, needs_permission: true });
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
        for inside in inner::commands(simple) {
            let what = format!("command {} inside {}", inside.show(), simple.show());
            let (facet, kind) = (Facet::Command(inside), ToolKind::Execute);
            parts.push(Part { what, facet, kind, needs_permission: false });
        }
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
