//! What the index of words does not know: signs, emoji, and scripts without spaces between words.
//!
//! Each such character of a text, and each two that stand together, becomes a word of an index of its
//! own: the numbers of the characters. A search asks it for candidates and looks at their texts then,
//! so it may offer too many and never too few.

use rusqlite::{Connection, params};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Pairs of characters below this number are counted in a table, all others in a set.
const PLAIN: u32 = 128;

/// Whether a character is one that this index knows.
fn is_sign(c: char) -> bool {
    // An accent of its own belongs to its letter, and may come and go with a capital.
    let is_of_word = is_of_word(c) || matches!(c, '\u{300}'..='\u{36f}');
    is_without_spaces(c) || !(is_of_word || c.is_whitespace() || c.is_control())
}

/// What words of the index of words are made of.
pub(crate) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Scripts in which a run of letters is a sentence: the index of words takes it for one word.
pub(crate) fn is_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'          // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Burmese
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{2e80}'..='\u{9fff}'      // Chinese, Japanese
        | '\u{ac00}'..='\u{d7ff}'      // Korean, whose words grow endings
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Gathers the signs of texts, one text after the other.
pub(crate) struct Signs {
    /// Which pairs of plain characters the text has; row 0 is for single ones.
    plain: Box<[u128; PLAIN as usize]>,
    others: HashSet<(u32, u32)>,
    words: String,
}

impl Default for Signs {
    fn default() -> Signs {
        Signs { plain: Box::new([0; PLAIN as usize]), others: HashSet::new(), words: String::new() }
    }
}

impl Signs {
    /// The words of the index of signs for a text; empty where it has no signs.
    pub(crate) fn of(&mut self, text: &str) -> &str {
        self.plain.fill(0);
        self.others.clear();
        self.words.clear();
        let mut before = 0;
        for c in text.chars() {
            if !is_sign(c) {
                before = 0;
                continue;
            }
            let this = u32::from(c);
            self.add(0, this);
            if before != 0 {
                self.add(before, this);
            }
            before = this;
        }
        self.words()
    }

    fn add(&mut self, before: u32, this: u32) {
        let row = usize::try_from(before).ok().and_then(|row| self.plain.get_mut(row));
        match row {
            Some(row) if this < PLAIN => {
                if *row & (1 << this) == 0 {
                    *row |= 1 << this;
                    push(&mut self.words, before, this);
                }
            }
            _ => {
                if self.others.insert((before, this)) {
                    push(&mut self.words, before, this);
                }
            }
        }
    }

    fn words(&self) -> &str {
        self.words.trim_end()
    }
}

fn push(words: &mut String, before: u32, this: u32) {
    let _infallible = match before {
        0 => write!(words, "{this:x} "),
        before => write!(words, "{before:x}x{this:x} "),
    };
}

/// The question for the index of signs: texts that may contain all of these; absent where it cannot
/// help.
pub(crate) fn question<'t>(parts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut signs = Signs::default();
    let mut words: Vec<String> = Vec::new();
    for part in parts {
        let own: Vec<&str> = signs.of(part).split_whitespace().collect();
        // Two together have each of them, too.
        let has_pairs = own.iter().any(|word| word.contains('x'));
        let telling = own.iter().filter(|word| !has_pairs || word.contains('x'));
        words.extend(telling.map(|word| format!("\"{word}\"")));
    }
    (!words.is_empty()).then(|| words.join(" AND "))
}

/// Puts the signs of a text into the index.
pub(crate) fn put(db: &Connection, signs: &mut Signs, id: i64, text: &str) -> rusqlite::Result<()> {
    let words = signs.of(text);
    if words.is_empty() {
        return Ok(());
    }
    let mut put = db.prepare_cached("INSERT INTO signs (rowid, text) VALUES (?,?)")?;
    put.execute(params![id, words]).map(|_| ())
}

/// Takes the signs of these passages out of the index; to be called while the passages are there.
pub(crate) fn forget(db: &Connection, first: i64, last: i64) -> rusqlite::Result<()> {
    each(db, first, last, |signs, id, text| {
        let words = signs.of(text);
        if words.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO signs (signs, rowid, text) VALUES ('delete',?,?)";
        db.prepare_cached(sql)?.execute(params![id, words]).map(|_| ())
    })
}

/// Puts the signs of all passages into the index, for one that was made without.
pub(crate) fn put_all(db: &Connection) -> rusqlite::Result<()> {
    each(db, 0, i64::MAX, |signs, id, text| put(db, signs, id, text))
}

/// Whether the index has the signs of all passages and no others: the first that is wrong.
pub(crate) fn wrong(db: &Connection) -> rusqlite::Result<Option<String>> {
    let mut passages: HashMap<String, i64> = HashMap::new();
    each(db, 0, i64::MAX, |signs, _, text| {
        for word in signs.of(text).split_whitespace() {
            match passages.get_mut(word) {
                Some(known) => *known += 1,
                None => drop(passages.insert(word.to_owned(), 1)),
            }
        }
        Ok(())
    })?;
    db.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.known_signs USING fts5vocab('main', 'signs', 'row')",
    )?;
    let mut ask = db.prepare("SELECT term, doc FROM temp.known_signs")?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let (sign, known): (String, i64) = (row.get(0)?, row.get(1)?);
        let expected = passages.remove(&sign).unwrap_or(0);
        if known != expected {
            return Ok(Some(format!("sign {sign} is in {expected} passages, not in {known}")));
        }
    }
    Ok(passages.into_iter().next().map(|(sign, _)| format!("sign {sign} is missing")))
}

fn each(
    db: &Connection,
    first: i64,
    last: i64,
    mut take: impl FnMut(&mut Signs, i64, &str) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut signs = Signs::default();
    let mut find = db.prepare_cached("SELECT id, text FROM passages WHERE id BETWEEN ? AND ?")?;
    let mut rows = find.query([first, last])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str()?;
        take(&mut signs, row.get(0)?, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn signs_and_pairs_are_words() {
        let table = [
            ("only words_here 12", ""),
            ("a -> b, c -> d", "2d 3e 2dx3e 2c"),
            ("a - > b", "2d 3e"),
            ("neigh🐴🐴", "1f434 1f434x1f434"),
            ("馬が", "99ac 304c 99acx304c"),
            ("(🐴", "28 1f434 28x1f434"),
            ("\u{1b}[2J", "5b"),
        ];
        let mut signs = Signs::default();
        for (text, words) in table {
            assert_eq!(signs.of(text), words, "{text:?}");
        }
    }

    #[test]
    fn a_question_has_the_longest_of_what_it_knows() {
        let ask = |parts: &[&str]| question(parts.iter().copied());
        assert_eq!(ask(&["->"]), Some("\"2dx3e\"".into()));
        assert_eq!(ask(&["c++", "🐴"]), Some("\"2bx2b\" AND \"1f434\"".into()));
        assert_eq!(ask(&["near"]), None);
        assert_eq!(ask(&[]), None);
    }

    proptest! {
        /// A text that contains something is always offered for it.
        #[test]
        fn nothing_is_missed(before in ".{0,8}", part in "[a-zİ馬🐴>+(, -]{1,6}", after in ".{0,8}") {
            let text = format!("{before}{part}{after}");
            let mut signs = Signs::default();
            let known: Vec<String> = signs.of(&text).split(' ').map(str::to_owned).collect();
            if let Some(asked) = &question([part.to_lowercase().as_str()].into_iter()) {
                for word in asked.split(" AND ") {
                    prop_assert!(known.contains(&word.replace('"', "")), "{word} of {text:?}");
                }
            }
        }
    }
}
