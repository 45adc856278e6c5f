//! Which hook a moment is for: JavaScript's regular expressions, and the words that mean all.

use fancy_regex::Regex;

/// What a hook is for.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    /// Everything.
    All,
    /// One of these words, whole.
    Words(Vec<String>),
    /// Whatever holds something of this form.
    Form(Box<Regex>),
}

impl Matcher {
    /// An expression that is looked for anywhere; none for one that is no expression.
    pub(super) fn form(text: &str) -> Option<Matcher> {
        if matches!(text.trim(), "" | "*") {
            return Some(Matcher::All);
        }
        Regex::new(text).ok().map(|form| Matcher::Form(Box::new(form)))
    }

    /// Whether it is for this; what is about nothing in particular is for all.
    pub(super) fn takes(&self, subject: Option<&str>) -> bool {
        let Some(subject) = subject else {
            return true;
        };
        match self {
            Matcher::All => true,
            Matcher::Words(words) => words.iter().any(|word| word == subject),
            // An expression that gives up half way has found nothing.
            Matcher::Form(form) => form.is_match(subject).unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_looked_for_anywhere_and_may_look_ahead() {
        for (matcher, subject, takes) in [
            ("", "Shell", true),
            ("*", "Shell", true),
            ("Shell|Write", "Shell", true),
            ("hell", "Shell", true),
            ("^hell", "Shell", false),
            ("^git (?!push)", "git pull", true),
            ("^git (?!push)", "git push", false),
        ] {
            assert_eq!(Matcher::form(matcher).unwrap().takes(Some(subject)), takes, "{matcher}");
        }
        assert!(Matcher::form("(").is_none());
        assert!(Matcher::form("^x$").unwrap().takes(None));
        let words = Matcher::Words(vec!["Edit".into()]);
        assert!(words.takes(Some("Edit")) && !words.takes(Some("NotebookEdit")));
    }
}
