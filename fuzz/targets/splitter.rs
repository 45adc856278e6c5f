//! Any bytes in any chunks: the same lines, well formed, and nothing lost.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::Part;
use stablehand_fuzz::{Cutting, Owned, rejoin, split};

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    let (lines, passed) = split(bytes, cutting);
    let (at_once, _) = split(bytes, cutting.at_once());
    assert_eq!(lines, at_once, "the chunks show in the lines");
    assert_eq!(rejoin(&lines), bytes, "the lines are not the stream");
    assert_eq!(passed, bytes, "what is passed on is not the stream");
    check_parts(&lines, cutting);
});

/// A long line is a first part, middle ones and a last one, none of them longer than allowed.
fn check_parts(lines: &[Owned], cutting: Cutting) {
    let part = cutting.part.max(8);
    let whole = cutting.whole.max(part);
    let mut inside = false;
    for line in lines {
        assert!(!line.bytes.contains(&b'\n'), "a newline inside a line");
        let (expected, limit) = match line.part {
            Part::Whole | Part::First => (false, whole),
            Part::Middle | Part::Last => (true, part),
        };
        assert_eq!(inside, expected, "a part out of its order");
        assert!(line.bytes.len() <= limit, "a part beyond its limit");
        inside = matches!(line.part, Part::First | Part::Middle);
    }
    assert!(!inside, "a long line without its last part");
}
