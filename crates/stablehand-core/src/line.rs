//! x
pub struct LineSplitter;
pub struct Line;
pub enum LineFlaw {}
