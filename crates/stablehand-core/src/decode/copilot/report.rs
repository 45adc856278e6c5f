//! What Copilot CLI reports about itself in the Agent Client Protocol.
//!
//! Owned here: how such a report is told from the model's words. The program sends retries,
//! cancellations and failures as messages of the agent, each in one piece with its level in front,
//! and then ends the turn as if all had gone well.

use crate::decode::kit;
use crate::event::{NoticeLevel, TurnEnd};
use crate::json::Value;

/// The name by which it introduces itself.
const NAME: &str = "Copilot";

/// What stands in front of a report.
const LEVELS: &[(&str, NoticeLevel)] = &[
    ("Info: ", NoticeLevel::Info),
    ("Warning: ", NoticeLevel::Warning),
    ("Error: ", NoticeLevel::Error),
];

/// A report of the program about itself.
#[derive(Debug, PartialEq)]
pub(in crate::decode) struct Report {
    pub(in crate::decode) level: NoticeLevel,
    pub(in crate::decode) text: String,
}

impl Report {
    /// Reads a piece of a message of the agent with that name; nothing where the model wrote it.
    pub(in crate::decode) fn read(agent: &str, piece: Value<'_>) -> Option<Report> {
        let words = piece.raw().strip_prefix(b"\"").filter(|_| agent == NAME)?;
        let is_of = |(begin, _): &&(&str, NoticeLevel)| words.starts_with(begin.as_bytes());
        let (_, level) = LEVELS.iter().find(is_of)?;
        Some(Report { level: *level, text: piece.string()? })
    }

    /// How the turn ends where nothing comes after this report.
    pub(in crate::decode) fn end(&self) -> Option<TurnEnd> {
        let message = self.text.strip_prefix("Error: ")?;
        let last = message.rsplit("Last error: ").next().unwrap_or(message);
        let status = last.split(' ').next().and_then(|word| word.parse().ok());
        Some(kit::failed(status, message.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FailureKind;

    #[test]
    fn a_report_is_told_from_the_words_of_the_model() {
        let table = [
            (NAME, r#""Info: Again...""#, Some((NoticeLevel::Info, "Info: Again..."))),
            (NAME, r#""Error: 400 no\nhay""#, Some((NoticeLevel::Error, "Error: 400 no\nhay"))),
            (NAME, r#""Information: hay""#, None),
            (NAME, r#""An Error: hay""#, None),
            (NAME, "7", None),
            ("gemini", r#""Error: hay""#, None),
        ];
        for (agent, piece, expected) in table {
            let expected = expected.map(|(level, text)| Report { level, text: text.to_owned() });
            assert_eq!(Report::read(agent, Value::new(piece.as_bytes())), expected, "{piece}");
        }
    }

    #[test]
    fn only_an_error_ends_the_turn() {
        let end = |level, text: &str| Report { level, text: text.to_owned() }.end();
        assert_eq!(end(NoticeLevel::Info, "Info: Again..."), None);
        let table = [
            ("Authentication failed with provider at x (HTTP 401).", FailureKind::Auth),
            ("400 no", FailureKind::BadRequest),
            ("Failed; retried 5 times Last error: 429 no", FailureKind::RateLimit),
            ("Failed to do it", FailureKind::Internal),
        ];
        for (text, failure) in table {
            let expected = TurnEnd::Failed { failure, message: text.to_owned() };
            assert_eq!(end(NoticeLevel::Error, &format!("Error: {text}")), Some(expected));
        }
    }
}
