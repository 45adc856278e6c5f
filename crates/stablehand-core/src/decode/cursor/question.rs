//! Cursor's `interaction_query` lines: what it asks, and how it answers itself.
//!
//! In print mode nobody can answer: the CLI does so within the same millisecond, by its flags.

use super::tools::first;
use crate::json::Value;

/// What is asked.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) id: String,
    /// The call that it is about, where it is about one.
    pub(super) call: Option<String>,
    pub(super) what: String,
    pub(super) options: Vec<String>,
    /// The arguments of a plan that waits for approval: its text is nowhere else.
    pub(super) plan: Option<Value<'a>>,
}

/// Reads `query` of a request.
pub(super) fn request<'a>(kind: &str, query: Value<'a>) -> Question<'a> {
    let named = query.members().find(|(_, value)| value.is_object());
    let kind =
        named.map_or_else(|| kind.to_owned(), |(key, _)| String::from_utf8_lossy(key).into_owned());
    let args = named.map(|(_, body)| body.get("args").unwrap_or(body));
    let say = |key: &str| args.and_then(|args| first(args, &[key])).unwrap_or_default();
    let what = match kind.as_str() {
        "webFetchRequestQuery" => format!("fetch {}", say("url")),
        "webSearchRequestQuery" => format!("search the web for {}", say("searchTerm")),
        "askQuestionInteractionQuery" => questions(args),
        "switchModeRequestQuery" => format!("switch to mode {}", say("targetModeId")),
        "createPlanRequestQuery" => format!("accept the plan {}", say("name")),
        "generateImageRequestQuery" => format!("generate an image: {}", say("description")),
        "mcpAuthRequestQuery" => format!("log in to {}", say("serverIdentifier")),
        "prManagementRequestQuery" => "manage a pull request".to_owned(),
        "setupVmEnvironmentArgs" => "set up the environment".to_owned(),
        "replaceEnvArgs" => "replace the environment".to_owned(),
        "connectScmRequestQuery" => "connect to source control".to_owned(),
        other => other.to_owned(),
    };
    let mut options = vec!["approved".to_owned(), "rejected".to_owned()];
    if kind == "askQuestionInteractionQuery" {
        options = labels(args);
    }
    let beside = named.and_then(|(_, body)| first(body, &["toolCallId"]));
    Question {
        id: id(query),
        call: args.and_then(|args| first(args, &["toolCallId"])).or(beside),
        what: what.trim_end().to_owned(),
        options,
        plan: args.filter(|_| kind == "createPlanRequestQuery"),
    }
}

/// Reads `response`: the id and the choice.
pub(super) fn response(response: Value<'_>) -> (String, String) {
    let named = response.members().find(|(_, value)| value.is_object());
    let body = named.map(|(_, body)| body.get("result").unwrap_or(body));
    let choice = body
        .into_iter()
        .flat_map(Value::members)
        .find(|(key, _)| *key != b"planUri")
        .map_or_else(|| "unknown".to_owned(), |(key, _)| String::from_utf8_lossy(key).into_owned());
    (id(response), choice)
}

fn id(holder: Value<'_>) -> String {
    holder
        .get("id")
        .map(|id| id.string().unwrap_or_else(|| String::from_utf8_lossy(id.raw()).into_owned()))
        .unwrap_or_default()
}

fn questions(args: Option<Value<'_>>) -> String {
    let Some(args) = args else {
        return String::new();
    };
    let prompts = args
        .get("questions")
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(|question| first(question, &["prompt"]));
    first(args, &["title"]).into_iter().chain(prompts).collect::<Vec<_>>().join("\n")
}

fn labels(args: Option<Value<'_>>) -> Vec<String> {
    args.and_then(|args| args.get("questions"))
        .and_then(|questions| questions.elements().next())
        .and_then(|question| question.get("options"))
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(|option| first(option, &["label", "id"]))
        .collect()
}
