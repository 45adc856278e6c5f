//! x
pub trait Decode {}
pub enum Depth {}
pub enum Dialect {}
