//! The agent's last event types, for evidence.
//!
//! Owns a ring of short names without allocating: every event passes here. Equal neighbours are
//! kept once, because fifty deltas in a row say no more than one.

const KEPT: usize = 6;
const WIDTH: usize = 40;

#[derive(Clone, Copy, Debug)]
struct Name {
    bytes: [u8; WIDTH],
    kept: u8,
    /// Length before it was cut, so that two names with one beginning stay apart.
    whole: usize,
}

impl Name {
    const NONE: Name = Name { bytes: [0; WIDTH], kept: 0, whole: usize::MAX };

    fn text(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.kept)).unwrap_or(&[]);
        str::from_utf8(bytes).unwrap_or("")
    }
}

/// Whether a name begins with what was kept of another of its length. Most names fit into two words
/// that overlap, and every event is asked for.
#[inline]
fn is_same(kept: &[u8], name: &[u8]) -> bool {
    let words = |bytes: &[u8]| {
        let (first, last) = (bytes.first_chunk::<8>()?, bytes.last_chunk::<8>()?);
        Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
    };
    match (kept.len(), name.len()) {
        (8..=16, 8..=16) => words(kept) == words(name),
        _ => name.starts_with(kept),
    }
}

#[derive(Clone, Debug)]
pub(super) struct Trail {
    names: [Name; KEPT],
    newest: usize,
}

impl Trail {
    pub(super) fn new() -> Self {
        Trail { names: [Name::NONE; KEPT], newest: 0 }
    }

    pub(super) fn note(&mut self, name: &str) {
        if let Some(newest) = self.names.get(self.newest)
            && newest.whole == name.len()
            && is_same(newest.bytes.get(..usize::from(newest.kept)).unwrap_or(&[]), name.as_bytes())
        {
            return;
        }
        self.push(name);
    }

    fn push(&mut self, name: &str) {
        let cut = name.floor_char_boundary(WIDTH);
        let mut bytes = [0; WIDTH];
        if let Some((to, from)) = bytes.get_mut(..cut).zip(name.as_bytes().get(..cut)) {
            to.copy_from_slice(from);
        }
        self.newest = (self.newest + 1) % KEPT;
        if let Some(slot) = self.names.get_mut(self.newest) {
            *slot = Name { bytes, kept: cut as u8, whole: name.len() };
        }
    }

    /// The newest name; empty where nothing was heard.
    pub(super) fn newest(&self) -> &str {
        self.names.get(self.newest).map_or("", Name::text)
    }

    /// All of them, newest last.
    pub(super) fn names(&self) -> Vec<String> {
        (1..=KEPT)
            .filter_map(|step| self.names.get((self.newest + step) % KEPT))
            .filter(|name| name.whole != usize::MAX)
            .map(|name| name.text().to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_kept_once_and_long_names_are_cut() {
        let mut trail = Trail::new();
        assert_eq!(trail.newest(), "");
        assert!(trail.names().is_empty());
        let long = "é".repeat(40);
        for name in ["a", "b", "b", "b", "a", &long, "d", "e", "f", "f"] {
            trail.note(name);
        }
        let cut = "é".repeat(20);
        assert_eq!(trail.names(), ["b", "a", &cut, "d", "e", "f"]);
        assert_eq!(trail.newest(), "f");
    }
}
