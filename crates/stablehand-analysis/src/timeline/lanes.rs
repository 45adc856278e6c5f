//! Which lane a span is drawn in: the first of its track that is free when it begins.

use super::{Lane, Span, Track};

/// So many lanes a track has at the most; what would need more is drawn over others in the last one.
const MOST_LANES: usize = 64;

/// Puts the spans into lanes, and into their order.
pub(super) fn assign(mut drafts: Vec<(Track, Span)>) -> (Vec<Lane>, Vec<Span>) {
    drafts.sort_by_key(|(track, span)| (*track, span.start_ms));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut track_now = None;
    // For each lane of the track from when on it is free.
    let mut free: Vec<u64> = Vec::new();
    let mut first = 0;
    let mut spans = Vec::with_capacity(drafts.len());
    for (track, mut span) in drafts {
        if track_now != Some(track) {
            track_now = Some(track);
            free.clear();
            first = lanes.len();
        }
        let found = free.iter().position(|until| *until <= span.start_ms);
        let row = match found {
            Some(row) => row,
            None if free.len() < MOST_LANES => {
                free.push(0);
                lanes.push(Lane { track, row: free.len() - 1 });
                free.len() - 1
            }
            None => free.len() - 1,
        };
        if let Some(until) = free.get_mut(row) {
            // What took no time still takes room, or two of one moment would hide each other. Of
            // states there is only one at a time.
            let room = u64::from(!matches!(track, Track::Run | Track::Health));
            *until = (*until).max(span.end_ms).max(span.start_ms.saturating_add(room));
        }
        span.lane = first + row;
        spans.push(span);
    }
    spans.sort_by_key(|span| (span.lane, span.start_ms));
    (lanes, spans)
}
