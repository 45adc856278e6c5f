//! Our own words on standard error: the log's decisions, as loud as was asked for.

use crate::screen::Screen;
use serde_json::Value;
use stablehand::log::Listener;
use stablehand_core::record::Level;
use stablehand_core::text;
use std::fmt::Write as _;

/// A listener that prints decisions, but for those that the face tells in its own words.
pub fn listener(
    program: &'static str,
    screen: Screen,
    told_by_face: &'static [&'static str],
) -> Listener {
    Box::new(move |level, message, fields| {
        if told_by_face.contains(&message) {
            return;
        }
        screen.err(line(program, level, message, fields).as_bytes());
    })
}

/// `cursor-wrap: WARN hang detected: no output for 60s`, or the fields where there is no text.
fn line(program: &str, level: Level, message: &str, fields: &Value) -> String {
    let mut line = format!("{program}: ");
    if level >= Level::Warn {
        let _infallible = write!(line, "{} ", level.name());
    }
    if let Some(said) = fields.get("text").and_then(Value::as_str) {
        line.push_str(&text::plain(said));
    } else {
        line.push_str(&message.replace('_', " "));
        for (name, value) in fields.as_object().into_iter().flatten() {
            let shown = match value {
                Value::String(s) => text::excerpt(s.as_bytes(), 120),
                Value::Null => continue,
                other => text::excerpt(other.to_string().as_bytes(), 120),
            };
            let _infallible = write!(line, " {name}={shown}");
        }
    }
    line.push('\n');
    line
}

/// A level by its name on the command line.
pub fn level(name: &str) -> Result<Level, String> {
    match name {
        "debug" => Ok(Level::Debug),
        "info" => Ok(Level::Info),
        "warn" => Ok(Level::Warn),
        "error" => Ok(Level::Error),
        _ => Err(format!("`{name}` is not a level; choose debug, info, warn or error")),
    }
}
