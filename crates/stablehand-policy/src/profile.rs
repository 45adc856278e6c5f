//! Ready-made policies, in the language of the files, so that anybody can read and copy them.

/// Every profile: its name and its text.
pub const ALL: &[(&str, &str)] = &[
    ("read-only", include_str!("profiles/read-only.toml")),
    ("workspace-write", include_str!("profiles/workspace-write.toml")),
    ("no-network", include_str!("profiles/no-network.toml")),
    ("yolo", include_str!("profiles/yolo.toml")),
];

/// The text of a profile.
pub fn by_name(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(profile, _)| *profile == name).map(|(_, text)| *text)
}
