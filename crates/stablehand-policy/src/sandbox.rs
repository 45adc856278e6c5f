//! What a policy asks of the kernel: where an agent's processes may write and read, and the network.
//!
//! The folders come from the rules themselves, by asking [`Policy::decide`] about sample files, and from
//! `[policy.sandbox]`. Which files exist, and how the kernel is told, is the library's.

use super::call::{Call, World};
use super::path::{clean, join, protected_names};
use super::rule::About;
use super::{Layer, Origin, Policy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stablehand_core::decision::{Action, RuleRef};
use stablehand_core::event::{ToolInput, ToolKind};

/// A name that no file has, for questions about a folder.
const SAMPLE: &str = ".stablehand-sample";

/// Folders outside of every workspace and home, for questions about the rest of the system.
const ELSEWHERE: &[&str] = &["/", "/srv", "/opt"];

/// Whether an agent's processes may open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Network {
    /// To anything.
    Any,
    /// To nothing but the ports of `connect`.
    None,
}

/// `[policy.sandbox]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxTable {
    /// Folders that may be written beside those that follow from the rules.
    #[serde(default)]
    write: Vec<String>,
    /// Folders that may be read where the rules deny reading elsewhere.
    #[serde(default)]
    read: Vec<String>,
    network: Option<Network>,
    /// TCP ports that stay open under `network = "none"`.
    #[serde(default)]
    connect: Vec<u16>,
}

impl SandboxTable {
    /// Returns what is wrong with it.
    pub(crate) fn fault(&self) -> Option<String> {
        let paths = self.write.iter().chain(&self.read);
        let wrong = paths.into_iter().find(|path| {
            path.is_empty()
                || path.contains(['*', '?', '\0'])
                || path.split('/').any(|part| part == "..")
                || (path.starts_with('~') && *path != "~" && !path.starts_with("~/"))
        });
        if let Some(path) = wrong {
            let path = path.escape_debug();
            return Some(format!("`{path}` is no folder; write one without wildcards and `..`"));
        }
        let is_open = self.network != Some(Network::None);
        (is_open && !self.connect.is_empty())
            .then(|| "`connect` belongs to network = \"none\"".to_owned())
    }
}

/// What the kernel is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Everything may be written, but for what is denied.
    pub writes_anywhere: bool,
    /// The workspace may be written.
    pub writes_workspace: bool,
    /// Everything may be read, but for what is denied.
    pub reads_anywhere: bool,
    /// Folders and files of the settings that may be written.
    pub write: Vec<String>,
    /// Folders and files of the settings that may be read.
    pub read: Vec<String>,
    /// The TCP ports that may be connected to; none is every one.
    pub connect: Option<Vec<u16>>,
    /// Files and folders with which patterns of denied paths begin.
    pub denied: Vec<String>,
    /// Patterns that begin with a wildcard are denied, so the workspace has to be searched.
    pub searches: bool,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is made, changed or removed.
    Write,
}

impl Policy {
    /// Returns what the kernel is to hold an agent to.
    pub fn bounds(&self, agent: &str, world: &dyn World) -> Bounds {
        let allows = |access, folder: &str| {
            let sample = join(folder, SAMPLE);
            self.decide_path(agent, access, &sample, world).action
        };
        let elsewhere = |access, wanted: fn(Action) -> bool| {
            let homes = world.home().into_iter();
            homes.chain(ELSEWHERE.iter().copied()).all(|folder| wanted(allows(access, folder)))
        };
        let mut bounds = Bounds {
            // A person who is asked can say no more than the kernel lets through, so a question about
            // the workspace leaves it open, and one about the rest of the system does not.
            writes_workspace: allows(Access::Write, world.workspace()) != Action::Deny,
            writes_anywhere: elsewhere(Access::Write, |action| action == Action::Allow),
            reads_anywhere: !elsewhere(Access::Read, |action| action == Action::Deny),
            ..Bounds::default()
        };
        let trusts = self.trusts_project();
        for layer in &self.layers {
            layer.add_to(&mut bounds, trusts || layer.origin == Origin::User, world);
        }
        bounds
    }

    /// Returns the rule, where one is named, that keeps a path from being read or changed.
    pub fn forbids(
        &self,
        agent: &str,
        access: Access,
        path: &str,
        world: &dyn World,
    ) -> Option<Option<RuleRef>> {
        let decision = self.decide_path(agent, access, path, world);
        (decision.action == Action::Deny).then_some(decision.rule)
    }

    /// Returns the paths of the workspace and of ours that a process must not change, as far as the
    /// rules do not allow it: settings of agents, hooks of git, files of the policy.
    pub fn guarded(&self, agent: &str, world: &dyn World) -> Vec<String> {
        let workspace = clean(world.workspace());
        let names = protected_names().flat_map(|name| match name {
            // Git has to write its own folder; what it runs by itself is in these two.
            ".git" => vec![".git/hooks", ".git/config"],
            ".hg" => vec![".hg/hgrc"],
            name => vec![name],
        });
        let names = names.map(|name| format!("{workspace}/{name}"));
        let all = names.chain(world.protected().iter().cloned());
        let is_held = |path: &String| {
            let decision = self.decide_path(agent, Access::Write, path, world);
            decision.action != Action::Allow
        };
        let mut found: Vec<String> = all.filter(is_held).collect();
        found.sort();
        found.dedup();
        found
    }

    fn decide_path(
        &self,
        agent: &str,
        access: Access,
        path: &str,
        world: &dyn World,
    ) -> stablehand_core::decision::Decision {
        let kind = match access {
            Access::Read => ToolKind::Read,
            Access::Write => ToolKind::Edit,
        };
        let input = ToolInput::Path { path: path.to_owned() };
        let arguments = &Value::Null;
        self.decide(
            &Call { agent, tool: "", kind, input: &input, also: &[], arguments, cwd: None },
            world,
        )
    }
}

impl Layer {
    fn add_to(&self, bounds: &mut Bounds, may_widen: bool, world: &dyn World) {
        let place = |path: &String| match (path.strip_prefix('~'), world.home()) {
            (Some(rest), Some(home)) => Some(clean(&format!("{home}/{rest}"))),
            (Some(_), None) => None,
            (None, _) => Some(clean(&join(world.workspace(), path))),
        };
        if let Some(table) = &self.sandbox {
            if may_widen {
                bounds.write.extend(table.write.iter().filter_map(place));
                bounds.read.extend(table.read.iter().filter_map(place));
            }
            if table.network == Some(Network::None) {
                bounds.connect.get_or_insert_default();
            }
            if let (Some(ports), true) = (&mut bounds.connect, may_widen) {
                ports.extend(&table.connect);
            }
        }
        for (rule, _) in &self.rules {
            if let (Action::Deny, About::Paths(patterns)) = (rule.action, &rule.about) {
                let (begin, searches) = patterns.beginnings(world);
                bounds.denied.extend(begin);
                bounds.searches |= searches;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl World for Plain {
        fn workspace(&self) -> &'static str {
            "/w"
        }

        fn home(&self) -> Option<&str> {
            Some("/home/u")
        }

        fn real(&self, path: &str) -> Option<String> {
            Some(path.to_owned())
        }

        fn schema_error(&self, _: &Value, _: &Value) -> Option<String> {
            None
        }
    }

    fn bounds(text: &str) -> Bounds {
        let policy = Policy::parse(text, "test.toml").unwrap();
        policy.bounds("demo", &Plain)
    }

    #[test]
    fn the_profiles_bound_what_they_say() {
        let profile = |name: &str| bounds(&format!("[policy]\nprofile = \"{name}\""));
        let read_only = profile("read-only");
        assert!(!read_only.writes_workspace && !read_only.writes_anywhere);
        assert!(read_only.reads_anywhere);
        let inside = profile("workspace-write");
        assert!(inside.writes_workspace && !inside.writes_anywhere && inside.connect.is_none());
        let yolo = profile("yolo");
        assert!(yolo.writes_anywhere && yolo.reads_anywhere);
        assert_eq!(profile("no-network").connect, Some(Vec::new()));
    }

    #[test]
    fn denied_paths_begin_where_their_patterns_do() {
        let found = bounds(
            "[[policy.rule]]\npath = [\"~/.ssh/**\", \"/etc/shadow\", \"secrets/*.pem\", \"**/.env\"]\naction = \"deny\"",
        );
        assert_eq!(found.denied, ["/home/u/.ssh", "/etc/shadow", "/w/secrets"]);
        assert!(found.searches);
    }

    #[test]
    fn reading_is_bounded_where_the_rules_deny_it_elsewhere() {
        let rule = "[[policy.rule]]\ntool = \"read\"\npath = \"!**\"\naction = \"deny\"";
        assert!(!bounds(rule).reads_anywhere);
    }

    #[test]
    fn a_project_narrows_and_does_not_widen() {
        let text = "[policy.sandbox]\nwrite = [\"~/x\"]\nnetwork = \"none\"\nconnect = [443]";
        let project = Policy::parse_project(text, "stablehand.toml").unwrap();
        let found = project.bounds("demo", &Plain);
        assert_eq!((found.write, found.connect), (Vec::new(), Some(Vec::new())));
        let users = bounds(text);
        assert_eq!(users.write, ["/home/u/x"]);
        assert_eq!(users.connect, Some(vec![443]));
    }

    #[test]
    fn what_agents_and_git_run_is_guarded() {
        let policy = Policy::parse("[policy]\nprofile = \"workspace-write\"", "t").unwrap();
        let guarded = policy.guarded("demo", &Plain);
        for path in ["/w/.git/hooks", "/w/.git/config", "/w/stablehand.toml", "/w/.mcp.json"] {
            assert!(guarded.iter().any(|it| it == path), "{path}: {guarded:?}");
        }
        let open = Policy::parse("[policy]\nprofile = \"yolo\"", "t").unwrap();
        assert!(open.guarded("demo", &Plain).is_empty());
    }

    #[test]
    fn a_wrong_folder_is_an_error_with_its_place() {
        for line in ["write = [\"src/*\"]", "read = [\"../x\"]", "connect = [80]"] {
            let text = format!("[policy.sandbox]\n{line}");
            assert!(Policy::parse(&text, "t.toml").is_err(), "{line}");
        }
    }
}
