//! When nothing was heard although nothing was open.
//!
//! Open means: a tool or another agent runs, or somebody is asked. Text in the making is no reason
//! for silence: a model that breaks off in the middle of a sentence is silent.

/// Follows what is heard.
#[derive(Debug)]
pub(super) struct Quiet {
    least_ms: i64,
    /// Things that explain a silence.
    open: usize,
    /// Since when nothing was heard and nothing was open; absent while there is nobody to hear.
    since: Option<i64>,
    /// It is somebody else's turn to speak.
    excused: bool,
}

/// A silence: from, to.
pub(super) type Gap = (i64, i64);

impl Quiet {
    pub(super) fn new(least_ms: u64) -> Quiet {
        let least_ms = i64::try_from(least_ms).unwrap_or(i64::MAX);
        Quiet { least_ms, open: 0, since: None, excused: false }
    }

    /// A process began: from now on there is somebody to hear.
    pub(super) fn begin(&mut self, at: i64) {
        *self = Quiet { open: 0, since: Some(at), excused: false, ..*self };
    }

    /// Something was heard.
    pub(super) fn hear(&mut self, at: i64) -> Option<Gap> {
        let gap = self.gap(at);
        self.since = Some(at);
        gap
    }

    /// Something that explains a silence began.
    pub(super) fn opened(&mut self, at: i64) -> Option<Gap> {
        let gap = self.gap(at);
        self.open += 1;
        gap
    }

    /// Something that explained it is over.
    pub(super) fn closed(&mut self, at: i64) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 && self.since.is_some() {
            self.since = Some(at);
        }
    }

    /// It is now, or is no longer, somebody else's turn.
    pub(super) fn excuse(&mut self, at: i64, excused: bool) -> Option<Gap> {
        if self.excused == excused {
            return None;
        }
        let gap = self.gap(at);
        self.excused = excused;
        if self.since.is_some() {
            self.since = Some(at);
        }
        gap
    }

    /// The process is gone, or the log ends.
    pub(super) fn end(&mut self, at: i64) -> Option<Gap> {
        let gap = self.gap(at);
        self.since = None;
        self.open = 0;
        gap
    }

    fn gap(&self, at: i64) -> Option<Gap> {
        let since = self.since.filter(|_| self.open == 0 && !self.excused)?;
        (at.saturating_sub(since) >= self.least_ms).then_some((since, at))
    }
}

/// Times at which something was open, in their order, those that touch as one.
pub(super) fn apart(mut busy: Vec<Gap>) -> Vec<Gap> {
    busy.sort_unstable();
    let mut apart: Vec<Gap> = Vec::with_capacity(busy.len());
    for (from, to) in busy {
        match apart.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// What is left of gaps when it turns out that something was open after all ([`apart`]), as far as it
/// is still long enough; no more than `most`, since a clock that is set back again and again can put
/// every gap over everything.
pub(super) fn without(gaps: &[Gap], apart: &[Gap], least_ms: u64, most: usize) -> Vec<Gap> {
    let least_ms = i64::try_from(least_ms).unwrap_or(i64::MAX);
    let mut left = Vec::new();
    for (from, to) in gaps {
        let mut from = *from;
        let first = apart.partition_point(|busy| busy.1 <= from);
        let within = apart.iter().skip(first).take_while(|busy| busy.0 < *to);
        for (begins, ends) in within.copied().chain([(*to, *to)]) {
            if left.len() == most {
                return left;
            }
            if begins.saturating_sub(from) >= least_ms {
                left.push((from, begins));
            }
            from = ends;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unexplained_silence_counts() {
        let mut quiet = Quiet::new(2000);
        assert_eq!(quiet.hear(0), None, "nobody was there before");
        assert_eq!(quiet.hear(1999), None);
        assert_eq!(quiet.hear(3999), Some((1999, 3999)));
        assert_eq!(quiet.opened(4000), None);
        assert_eq!(quiet.hear(9000), None, "a tool runs");
        quiet.closed(9500);
        assert_eq!(quiet.opened(12_000), Some((9500, 12_000)), "a question that we ask");
        quiet.closed(13_000);
        assert_eq!(quiet.excuse(13_500, true), None);
        assert_eq!(quiet.excuse(60_000, false), None, "nobody had prompted it");
        assert_eq!(quiet.end(70_000), Some((60_000, 70_000)));
        assert_eq!(quiet.end(80_000), None);
    }

    #[test]
    fn what_was_busy_after_all_was_not_silent() {
        let busy = vec![(35, 60), (12, 20), (15, 18)];
        assert_eq!(
            without(&[(0, 30), (40, 50), (70, 90)], &apart(busy), 10, 9),
            [(0, 12), (20, 30), (70, 90)]
        );
        assert_eq!(without(&[(0, 5)], &[], 5, 9), [(0, 5)]);
    }

    #[test]
    fn gaps_over_everything_are_bounded() {
        let busy = apart((0..1000).map(|n| (n * 10, n * 10 + 1)).collect());
        assert_eq!(without(&[(0, 20_000); 1000], &busy, 1, 5000).len(), 5000);
    }
}
