//! Cursor's stream-json.
use super::{Decode, Depth};
use crate::event::EventKind;
use crate::json::Scan;
use crate::line::Line;
/// Reads Cursor's stream.
#[derive(Debug, Default)]
pub struct CursorDecoder {}
impl Decode for CursorDecoder {
    fn line(&mut self, _: &Line<'_>, _: &Scan<'_>, _: Depth, _: &mut Vec<EventKind>) {}
    fn finish(&mut self, _: Depth, _: &mut Vec<EventKind>) {}
    fn last_type(&self) -> &str {
        ""
    }
}
