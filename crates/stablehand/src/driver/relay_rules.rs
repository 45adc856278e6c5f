//! Rules in a relay.

use super::Driver;
use stablehand_core::Moment;
use stablehand_core::event::EventKind;
use stablehand_core::json::{Object, Scan};
use stablehand_core::line::Line;

#[derive(Debug, Default)]
pub(super) struct Rulings {}

impl Rulings {
    pub(super) fn is_asking(&self) -> bool {
        false
    }
    pub(super) fn passes(
        &mut self,
        _line: &Line<'_>,
        _scan: &Scan<'_>,
        _events: &[EventKind],
    ) -> bool {
        true
    }
    pub(super) fn passed(&self) -> Option<&[u8]> {
        None
    }
    pub(super) fn pass_anew(&mut self) {}
    pub(super) fn answered(&mut self, _object: &Object<'_>) -> bool {
        false
    }
}

impl Driver<'_> {
    pub(super) fn carry_out_asked(&mut self) {}
    pub(super) fn carry_out_rulings(&mut self, _now: Moment) {}
}
