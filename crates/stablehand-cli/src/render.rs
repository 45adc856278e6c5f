//! How events are shown on standard output.

mod change;
mod events;
mod text;

pub use events::EventLines;
pub use text::TextView;
