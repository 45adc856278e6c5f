//! Rows in, rows out, and what is told of them.

use super::*;
use proptest::prelude::*;

fn terminal(cols: u16, rows: u16) -> Terminal {
    Terminal::new(TerminalSize::new(cols, rows))
}

fn texts(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.text.as_str()).collect()
}

/// Looks after each of the chunks, and joins what is told as a reader would.
fn told(size: (u16, u16), chunks: &[&str]) -> Vec<String> {
    let mut terminal = terminal(size.0, size.1);
    let mut teller = Teller::default();
    let mut lines: Vec<String> = Vec::new();
    for chunk in chunks {
        terminal.feed(chunk.as_bytes());
        let scrolled = terminal.take_scrolled();
        let Some(telling) = teller.tell(scrolled, terminal.rows()) else { continue };
        let mut new = telling.text.split('\n').map(str::to_owned);
        if telling.continues {
            lines.last_mut().unwrap().push_str(&new.next().unwrap());
        }
        lines.extend(new);
    }
    lines
}

#[test]
fn rows_that_leave_at_the_top_are_kept_once_and_in_order() {
    let mut terminal = terminal(40, 5);
    let mut all = Vec::new();
    for number in 0..1000 {
        terminal.feed(format!("line {number}\r\n").as_bytes());
        if number % 7 == 0 {
            all.extend(terminal.take_scrolled());
        }
    }
    all.extend(terminal.take_scrolled());
    all.extend(terminal.rows());
    let expected: Vec<String> = (0..1000).map(|number| format!("line {number}")).collect();
    assert_eq!(texts(&all), expected);
}

#[test]
fn rows_survive_a_visit_to_the_other_screen_and_a_reset() {
    let mut terminal = terminal(40, 5);
    terminal.feed(b"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\x1b[?1049hother\r\n\n\n\n\n\n\x1b[?1049l\r\nh");
    assert_eq!(texts(&terminal.take_scrolled()), ["a", "b", "c"]);
    assert_eq!(texts(&terminal.rows()), ["d", "e", "f", "g", "h"]);
    terminal.feed(b"\r\ni\x1bcnew\r\n1\r\n2\r\n3\r\n4\r\n5");
    assert_eq!(texts(&terminal.take_scrolled()), ["d", "new"]);
    assert_eq!(texts(&terminal.rows()), ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_wrapped_row_says_so() {
    let mut terminal = terminal(20, 5);
    terminal.feed("x".repeat(25).as_bytes());
    assert_eq!(
        terminal.rows(),
        [Row { text: "x".repeat(20), wraps: true }, Row { text: "x".repeat(5), wraps: false }]
    );
}

#[test]
fn plain_output_is_told_as_it_was_written() {
    assert_eq!(
        told(
            (80, 5),
            &["one\r\n\r\ntwo\r\n", "two\r\ntwo\r\n", "three\r\nfour\r\nfive\r\nsix\r\n"]
        ),
        ["one", "", "two", "two", "two", "three", "four", "five", "six"]
    );
    let expected: Vec<String> = (0..300).map(|number| format!("test {number} ok")).collect();
    let many = expected.join("\r\n");
    assert_eq!(told((80, 24), &[&many]), expected);
    let some: Vec<String> =
        (0..30).map(|tens| expected[tens * 10..][..10].join("\r\n") + "\r\n").collect();
    let some: Vec<&str> = some.iter().map(String::as_str).collect();
    assert_eq!(told((80, 24), &some), expected, "in pieces");
}

#[test]
fn long_lines_are_joined_and_growing_ones_go_on() {
    assert_eq!(
        told((20, 5), &["0123456789012345678901234\r\nnext"]),
        ["0123456789012345678901234", "next"]
    );
    let words = ["The", " quick", " brown fox", " jumps over\r\n", "done"];
    assert_eq!(told((80, 5), &words), ["The quick brown fox jumps over", "done"]);
    let long = ["abcdefghijklmnopqr", "stuvwxyz", " and on", " and on and on"];
    assert_eq!(told((20, 9), &long), ["abcdefghijklmnopqrstuvwxyz and on and on and on"]);
}

#[test]
fn a_spinner_a_clock_and_a_bar_are_nothing_new() {
    let wheel = ["⠋", "⠙", "⠹", "|", "/", "-", "✻"];
    let frames: Vec<String> = (0..200)
        .map(|n| {
            let bar = "█".repeat(n % 20);
            format!("\r\x1b[2K{} Working… ({n}s) [{bar:<20}] {}%", wheel[n % 7], n % 100)
        })
        .collect();
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let lines = told((80, 5), &frames);
    assert_eq!(lines.len(), 1, "{lines:?}");
    // Nor are words that take turns.
    let turns: Vec<&str> = ["\r\x1b[2KBaking", "\r\x1b[2KBrewing", "\r\x1b[2KMulling"].repeat(50);
    assert_eq!(told((80, 5), &turns), ["Baking", "Brewing", "Mulling"]);
}

#[test]
fn a_box_that_moves_down_is_told_once() {
    let frame = "╭──────────╮\r\n│ > input  │\r\n╰──────────╯";
    let first = format!("hello\r\n{frame}");
    // Up over the box, clear, more text, the box again: what such programs do.
    let up = "\x1b[2A\r\x1b[J";
    let second = format!("{up}world\r\n{frame}");
    let third = format!("{up}again\r\n{frame}");
    assert_eq!(told((80, 24), &[&first, &second, &third]), ["hello", "> input", "world", "again"]);
    // And when everything scrolls.
    assert_eq!(told((80, 5), &[&first, &second, &third]), ["hello", "> input", "world", "again"]);
}

#[test]
fn pictures_are_not_read_out() {
    let logo = "  ▐▛███▜▌   Pony 1.0\r\n ▝▜█████▛▘  stable\r\n   ▘▘ ▝▝    ~/w\r\n⣀⣤⣤⣤⣀\r\n";
    assert_eq!(told((80, 24), &[logo]), ["Pony 1.0", "stable", "~/w"]);
    assert_eq!(
        told((80, 24), &["⠋ Working\r\n── done ──\r\n    indented"]),
        ["Working", "done", "    indented"]
    );
}

#[test]
fn a_whole_screen_repainted_is_nothing_new() {
    let paint = |rows: &[&str]| format!("\x1b[2J\x1b[H{}", rows.join("\r\n"));
    let (a, b) = (paint(&["menu", "apples", "pears"]), paint(&["menu", "pears", "plums"]));
    assert_eq!(told((80, 24), &[&a, &b, &a, "\x1b[2J", &b]), ["menu", "apples", "pears", "plums"]);
    let other = format!("shell\r\n\x1b[?1049h{a}");
    let left = ["menu", "apples", "pears", "shell"];
    assert_eq!(told((80, 24), &[&other, "\x1b[?1049l", "\x1b[?1049h", &a]), left);
}

#[test]
fn no_control_sequence_and_no_trick_is_told() {
    let lines = told((80, 24), &["\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m \u{202e}live\u{202c}"]);
    assert_eq!(lines, ["red live"]);
}

#[test]
fn expensive_sequences_are_cheap() {
    // Each of these asks for 65535 of something; together they would take minutes.
    let mut terminal = terminal(120, 40);
    let wild = "@LMPSTXABCDEFGdJK".chars().map(|last| format!("x\x1b[65535{last}"));
    terminal.feed(wild.collect::<Vec<_>>().concat().repeat(200).as_bytes());
    assert!(terminal.rows().len() <= 40);
}

#[test]
fn an_emulator_that_gives_up_begins_anew() {
    let mut terminal = terminal(21, 5);
    // Half of a wide character is cut off by a smaller screen, and then written over.
    terminal.feed("gone \x1b[1;20H界".as_bytes());
    terminal.resize(TerminalSize::new(20, 5));
    terminal.feed("\x1b[1;20Hx".as_bytes());
    terminal.feed(b"\r\nhere again\x1b[6n");
    assert!(terminal.last_lines(1) == ["here again"], "{:?}", terminal.rows());
    assert_eq!(terminal.size(), TerminalSize::new(20, 5));
    assert!(terminal.take_replies().ends_with(b";11R"));
}

#[test]
fn the_last_lines_are_those_with_something_on_them() {
    let mut terminal = terminal(80, 24);
    terminal.feed(b"one\r\n\r\ntwo\r\n\x1b[1mthree\x1b[0m\r\n\r\n");
    assert_eq!(terminal.last_lines(2), ["two", "three"]);
    assert_eq!(terminal.last_lines(9), ["one", "two", "three"]);
}

fn wild() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>(),
        "[a-z あ界🐎é]{0,20}".prop_map(String::into_bytes),
        (prop::collection::vec(0u16..200, 0..3), "[@A-HJ-MPSTXdhlmnrt]").prop_map(
            |(params, last)| {
                let params: Vec<String> = params.iter().map(u16::to_string).collect();
                format!("\x1b[{}{last}", params.join(";")).into_bytes()
            }
        ),
        prop::sample::select(vec![
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1bc",
            "\x1b7",
            "\x1b8",
            "\x1bM",
            "\r",
            "\n",
            "\t",
            "\x08",
            "\x1b[?6h",
            "\x1b[?6l",
            "\x1b[2;4r",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_can_be_drawn_and_told(
        bytes in wild(),
        cols in 20u16..60,
        rows in 5u16..12,
        sizes in prop::collection::vec((20u16..60, 5u16..12), 0..3),
    ) {
        let mut terminal = terminal(cols, rows);
        let mut teller = Teller::default();
        let sizes = sizes.into_iter().map(Some).chain(std::iter::repeat(None));
        for (chunk, size) in bytes.chunks(50).zip(sizes) {
            terminal.feed(chunk);
            if let Some((cols, rows)) = size {
                terminal.resize(TerminalSize::new(cols, rows));
            }
            let scrolled = terminal.take_scrolled();
            if let Some(telling) = teller.tell(scrolled, terminal.rows()) {
                prop_assert!(!telling.text.chars().any(|c| c.is_control() && c != '\n'));
            }
            let scrolled = terminal.take_scrolled();
            prop_assert_eq!(teller.tell(scrolled, terminal.rows()), None, "nothing new by itself");
        }
    }

    #[test]
    fn plain_lines_are_told_whatever_the_pauses(
        lines in prop::collection::vec("[a-c]{1,12}", 1..60),
        every in 1usize..20,
    ) {
        let text: Vec<String> = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let chunks: Vec<String> = text.chunks(every).map(<[String]>::concat).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        prop_assert_eq!(told((40, 7), &chunks), lines);
    }
}
