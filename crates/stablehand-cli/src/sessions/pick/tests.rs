//! Keys, the order of matches, and rows that fit.

use super::keys::keys;
use super::*;

fn finder() -> Finder {
    let choice = |agent: &str, title: &str, place: &str| Choice {
        age: "5m".into(),
        agent: agent.into(),
        title: title.into(),
        place: place.into(),
        more: "0b1c".into(),
    };
    Finder::new(vec![
        choice("claude", "Mend the fence", "~/work/barn"),
        choice("codex", "feed the ponies and the mule, all of them, and then some more", "~/work"),
        choice("cursor", "fence off the paddock", "~/work/a/long/way/down/to/the/paddock"),
    ])
}

fn type_in(finder: &mut Finder, text: &str) {
    for c in text.chars() {
        assert_eq!(finder.press(Key::Char(c), 5), Step::Stay);
    }
}

#[test]
fn what_is_typed_filters_and_ranks() {
    let mut finder = finder();
    assert_eq!(finder.found, [0, 1, 2], "the newest first");
    type_in(&mut finder, "ponies");
    assert_eq!(finder.found, [1]);
    assert_eq!(finder.press(Key::Enter, 5), Step::Chosen(1));
    finder.press(Key::DeleteAll, 5);
    type_in(&mut finder, "fence");
    assert_eq!(finder.found, [0, 2, 1], "whole words before scattered letters");
    type_in(&mut finder, " paddk");
    assert_eq!(finder.found[0], 2, "every word counts, letters may be missing");
    finder.press(Key::DeleteWord, 5);
    assert_eq!((finder.query.as_str(), finder.found.len()), ("fence ", 3));
    finder.press(Key::DeleteAll, 5);
    type_in(&mut finder, "codex");
    assert_eq!(finder.found, [1], "the agent is searched, too");
    type_in(&mut finder, "zzz");
    assert_eq!((finder.found.len(), finder.press(Key::Enter, 5)), (0, Step::Stay));
    for _ in 0..3 {
        finder.press(Key::Backspace, 5);
    }
    assert_eq!(finder.found, [1]);
    assert_eq!(finder.press(Key::Cancel, 5), Step::Cancelled);
}

#[test]
fn the_bar_stays_on_the_list() {
    let mut finder = finder();
    let mut at = |key| {
        finder.press(key, 2);
        finder.at
    };
    let keys = [Key::Up, Key::Down, Key::PageDown, Key::Down, Key::PageUp, Key::Last, Key::First];
    assert_eq!(keys.map(&mut at), [0, 1, 2, 2, 0, 2, 0]);
    let mut empty = Finder::new(Vec::new());
    assert_eq!((empty.press(Key::Down, 5), empty.press(Key::Enter, 5)), (Step::Stay, Step::Stay));
}

#[test]
fn bytes_become_keys() {
    let table: &[(&[u8], &[Key], &[u8])] = &[
        (b"a\r", &[Key::Char('a'), Key::Enter], b""),
        ("é漢".as_bytes(), &[Key::Char('é'), Key::Char('漢')], b""),
        (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", &[Key::Up, Key::Down, Key::PageUp, Key::PageDown], b""),
        (b"\x1b[1;5A\x1b[H\x1b[4~\x1b[200~", &[Key::Up, Key::First, Key::Last, Key::Nothing], b""),
        (
            b"\x7f\x08\x15\x17",
            &[Key::Backspace, Key::Backspace, Key::DeleteAll, Key::DeleteWord],
            b"",
        ),
        (
            b"\x03\x04\x07\x10\x0e\x00",
            &[Key::Cancel, Key::Cancel, Key::Cancel, Key::Up, Key::Down, Key::Nothing],
            b"",
        ),
        (b"x\x1b", &[Key::Char('x')], b"\x1b"),
        (b"\x1b[1", &[], b"\x1b[1"),
        (b"a\xc3", &[Key::Char('a')], b"\xc3"),
        (b"\xffb\xc3\x28", &[Key::Nothing, Key::Char('b'), Key::Nothing], b""),
        (b"", &[], b""),
    ];
    for (bytes, expected, rest) in table {
        assert_eq!(keys(bytes), (expected.to_vec(), rest.to_vec()), "{bytes:?}");
    }
}

#[test]
fn rows_fit_whatever_the_width() {
    let finder = finder();
    for cols in [10, 40, 69, 70, 100, 200] {
        for choice in &finder.choices {
            let made = row(choice, cols);
            assert!(made.chars().count() <= cols.max(14), "{cols}: {made:?}");
        }
    }
    let narrow = row(&finder.choices[1], 37);
    assert_eq!(narrow, "  5m codex    feed the ponies and th…");
    assert!(row(&finder.choices[2], 97).ends_with("…ng/way/down/to/the/paddock"));
    let frame = finder.frame((40, 4), false);
    assert!(frame.contains("3/3") && !frame.contains("paddock"), "two rows of three: {frame:?}");
}

#[test]
fn ages_are_short() {
    let table =
        [(20, "now"), (300, "5m"), (7200, "2h"), (86_400 * 12, "12d"), (86_400 * 800, "2y")];
    for (seconds, expected) in table {
        assert_eq!(age(Duration::from_secs(seconds)), expected);
    }
}
