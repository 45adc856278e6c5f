//! From a method and a path to what is asked for.
//!
//! Owns the paths and the choice of protocol. A path begins with `/s/<scene>`; what follows is the
//! path of the real service.

use super::conversation::{Conversation, Frame, Reply};
use super::{anthropic, chat, gemini, responses};
use serde_json::Value;

/// The protocols that agents speak to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions.
    Chat,
    /// Google's `generateContent`.
    Gemini,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// An answer of the model. `named` is the model and whether to stream, where the path says so.
    Answer { protocol: Protocol, named: Option<(String, bool)> },
    /// How many tokens a request has; the field of the answer.
    TokenCount(&'static str),
    /// The list of models.
    Models,
    /// Whether anybody is there.
    Presence,
    /// Something else.
    Unknown,
}

/// The scene of a path, and the path of the real service. Without a scene it is `hello`.
pub(super) fn scene_of(path: &str) -> (&str, &str) {
    let scene_and_rest = path.strip_prefix("/s/").map(|rest| match rest.find('/') {
        Some(end) => rest.split_at(end),
        None => (rest, "/"),
    });
    scene_and_rest.unwrap_or(("hello", path))
}

pub(super) fn asked(method: &str, path: &str) -> Asked {
    if method == "HEAD" || path.is_empty() || path == "/" {
        return Asked::Presence;
    }
    if method == "GET" && path.trim_end_matches('/').ends_with("/models") {
        return Asked::Models;
    }
    if method != "POST" {
        return Asked::Unknown;
    }
    let answer = |protocol| Asked::Answer { protocol, named: None };
    if path.ends_with("/messages/count_tokens") {
        return Asked::TokenCount("input_tokens");
    }
    if path.ends_with("/messages") {
        return answer(Protocol::Messages);
    }
    if path.ends_with("/responses") {
        return answer(Protocol::Responses);
    }
    if path.ends_with("/chat/completions") {
        return answer(Protocol::Chat);
    }
    let Some((model, verb)) = path.rsplit_once("/models/").and_then(|(_, end)| end.split_once(':'))
    else {
        return Asked::Unknown;
    };
    let named = |streamed| Asked::Answer {
        protocol: Protocol::Gemini,
        named: Some((model.to_owned(), streamed)),
    };
    match verb {
        "generateContent" => named(false),
        "streamGenerateContent" => named(true),
        "countTokens" => Asked::TokenCount("totalTokens"),
        _ => Asked::Unknown,
    }
}

impl Protocol {
    pub(super) fn read(self, body: &Value) -> Conversation {
        match self {
            Protocol::Messages => anthropic::read(body),
            Protocol::Responses => responses::read(body),
            Protocol::Chat => chat::read(body),
            Protocol::Gemini => gemini::read(body),
        }
    }

    pub(super) fn whole(self, reply: &Reply) -> Value {
        match self {
            Protocol::Messages => anthropic::whole(reply),
            Protocol::Responses => responses::whole(reply),
            Protocol::Chat => chat::whole(reply),
            Protocol::Gemini => gemini::whole(reply),
        }
    }

    pub(super) fn frames(self, reply: &Reply) -> Vec<Frame> {
        match self {
            Protocol::Messages => anthropic::frames(reply),
            Protocol::Responses => responses::frames(reply),
            Protocol::Chat => chat::frames(reply),
            Protocol::Gemini => gemini::frames(reply),
        }
    }

    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Protocol::Messages => anthropic::error(status, message),
            Protocol::Responses | Protocol::Chat => chat::error(status, message),
            Protocol::Gemini => gemini::error(status, message),
        }
    }

    /// A frame as server-sent event.
    pub(super) fn event(self, data: &Value) -> String {
        match (self, data.get("type").and_then(Value::as_str)) {
            (Protocol::Messages | Protocol::Responses, Some(kind)) => {
                format!("event: {kind}\ndata: {data}\n\n")
            }
            // Its client takes the line separators of Unicode for ends of lines, too.
            (Protocol::Gemini, _) => {
                let data = data.to_string();
                let data = data.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
                format!("data: {data}\r\n\r\n")
            }
            _ => format!("data: {data}\n\n"),
        }
    }

    /// What comes after the last frame.
    pub(super) fn end(self) -> &'static str {
        if self == Protocol::Chat { "data: [DONE]\n\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_scene() {
        assert_eq!(scene_of("/s/cut/v1/messages"), ("cut", "/v1/messages"));
        assert_eq!(scene_of("/s/cut"), ("cut", "/"));
        assert_eq!(scene_of("/v1/messages"), ("hello", "/v1/messages"));
    }

    #[test]
    fn paths_of_the_services_are_known() {
        let named = |streamed| Asked::Answer {
            protocol: Protocol::Gemini,
            named: Some(("g-1".to_owned(), streamed)),
        };
        let plain = |protocol| Asked::Answer { protocol, named: None };
        let table = [
            ("POST", "/v1/messages", plain(Protocol::Messages)),
            ("POST", "/v1/messages/count_tokens", Asked::TokenCount("input_tokens")),
            ("POST", "/v1/responses", plain(Protocol::Responses)),
            ("POST", "/v1/chat/completions", plain(Protocol::Chat)),
            ("POST", "/v1beta/models/g-1:generateContent", named(false)),
            ("POST", "/v1beta/models/g-1:streamGenerateContent", named(true)),
            ("POST", "/v1beta/models/g-1:countTokens", Asked::TokenCount("totalTokens")),
            ("POST", "/v1beta/models/g-1:embedContent", Asked::Unknown),
            ("GET", "/v1/models", Asked::Models),
            ("GET", "/v1/messages", Asked::Unknown),
            ("HEAD", "/", Asked::Presence),
        ];
        for (method, path, expected) in table {
            assert_eq!(asked(method, path), expected, "{method} {path}");
        }
    }
}
