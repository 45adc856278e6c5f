//! How events are shown on standard output.

mod change;
mod events;
mod surface;
mod text;

pub use events::EventLines;
pub(crate) use events::make_json_safe;
pub use surface::{Page, Surface};
pub use text::TextView;
pub(crate) use text::one_line;
