//! What Cursor makes of what its hooks wrote: one answer, then all of them together.
//!
//! Owns the rules about exit codes, empty and broken answers, and the merge. Nothing here runs
//! anything.

use super::event::Event;
use super::file::Entry;
use crate::hooks::run::Ran;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What stands between the messages of several hooks.
const BETWEEN: &str = "\n\n---\n\n";

/// A longer context is dropped whole.
const LONGEST_CONTEXT: usize = 10_000;

/// The exit code that says no.
const BLOCKS: i32 = 2;

/// What hooks say about a call; what is further down is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Permission {
    Allow,
    Ask,
    Deny,
}

/// An answer, of one hook or of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) permission: Option<Permission>,
    pub(super) user_message: Option<String>,
    pub(super) agent_message: Option<String>,
    pub(super) context: Option<String>,
    /// Whether anybody said that it must not go on.
    pub(super) stops: bool,
    pub(super) env: BTreeMap<String, String>,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) followup: Option<String>,
}

/// What one hook came to, and a word about it for the record.
pub(super) fn judge(entry: &Entry, ran: &Ran) -> (Answer, String) {
    let failed = |why: String| {
        if entry.fail_closed {
            let reason = format!("A hook failed and was to be obeyed: {why}");
            (blocked(entry.event, reason), format!("failed closed: {why}"))
        } else {
            (Answer::default(), format!("ignored: {why}"))
        }
    };
    let (code, stdout, stderr) = match ran {
        Ran::TimedOut => return failed("it took too long".to_owned()),
        Ran::NotStarted(why) => return failed(format!("it could not be started: {why}")),
        Ran::Exited { code, stdout, stderr } => (*code, stdout.trim(), stderr.trim()),
    };
    match code {
        Some(0) => {}
        Some(BLOCKS) => {
            let reason = if stdout.is_empty() {
                format!("Hook blocked with message: {stderr}")
            } else {
                stdout.to_owned()
            };
            return (blocked(entry.event, reason), "blocked".to_owned());
        }
        Some(code) => return failed(format!("exit code {code}")),
        None => return failed("ended by a signal".to_owned()),
    }
    if stdout.is_empty() {
        return failed("it said nothing".to_owned());
    }
    let broken = |why: &str| {
        if entry.event.asks_permission() {
            let reason = format!("A hook gave an answer that cannot be read: {why}");
            (blocked(entry.event, reason), format!("blocked: {why}"))
        } else {
            failed(why.to_owned())
        }
    };
    let Some(object) = last_object(stdout) else {
        return broken("no JSON");
    };
    match read(entry.event, &object) {
        Err(why) => broken(why),
        Ok(mut answer) => {
            let is_long = |text: &String| text.chars().count() > LONGEST_CONTEXT;
            if answer.context.as_ref().is_some_and(is_long) {
                answer.context = None;
                if entry.fail_closed && entry.event == Event::PreToolUse {
                    return failed("its context is too long".to_owned());
                }
                return (answer, "answered, its context dropped: too long".to_owned());
            }
            (answer, "answered".to_owned())
        }
    }
}

/// The answer that says no, as far as the event can be told so.
fn blocked(event: Event, reason: String) -> Answer {
    if event.asks_permission() {
        let permission = Some(Permission::Deny);
        return Answer { permission, agent_message: Some(reason), ..Answer::default() };
    }
    if matches!(event, Event::SessionStart | Event::BeforeSubmitPrompt) {
        return Answer { stops: true, user_message: Some(reason), ..Answer::default() };
    }
    Answer::default()
}

/// The object at the end of a text, with whatever before it.
fn last_object(text: &str) -> Option<Map<String, Value>> {
    let starts = text.char_indices().filter(|(_, letter)| *letter == '{');
    starts.filter_map(|(at, _)| text.get(at..)).find_map(|rest| serde_json::from_str(rest).ok())
}

fn read(event: Event, object: &Map<String, Value>) -> Result<Answer, &'static str> {
    let none = Map::new();
    let specific = match object.get("hookSpecificOutput") {
        None | Some(Value::Null) => &none,
        Some(value) => value.as_object().ok_or("`hookSpecificOutput` is no object")?,
    };
    let get = |name: &str, other: &str| {
        let value = object.get(name).or_else(|| specific.get(other));
        value.filter(|value| !value.is_null())
    };
    let text = |name: &str, other: &str, why| {
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(why);
        get(name, other).map(text).transpose()
    };
    let permission = match get("permission", "permissionDecision") {
        None => None,
        Some(value) => Some(match value.as_str() {
            Some("allow") => Permission::Allow,
            Some("deny") => Permission::Deny,
            // A file is read or it is not.
            Some("ask") if event != Event::BeforeReadFile => Permission::Ask,
            _ => return Err("an unknown `permission`"),
        }),
    };
    let continues = match object.get("continue") {
        None | Some(Value::Null) => true,
        Some(value) => value.as_bool().ok_or("`continue` is no boolean")?,
    };
    let mut env = BTreeMap::new();
    if let Some(value) = get("env", "env") {
        for (name, value) in value.as_object().ok_or("`env` is no object")? {
            let value = value.as_str().ok_or("`env` has a value that is no text")?;
            env.insert(name.clone(), value.to_owned());
        }
    }
    let updated_input = match get("updated_input", "updatedInput") {
        None => None,
        Some(value) => Some(value.as_object().ok_or("`updated_input` is no object")?.clone()),
    };
    let mut followup = text("followup_message", "", "`followup_message` is no text")?;
    if matches!(event, Event::Stop | Event::SubagentStop)
        && object.get("decision").and_then(Value::as_str) == Some("block")
    {
        followup = followup.or(text("reason", "", "`reason` is no text")?);
    }
    Ok(Answer {
        permission,
        user_message: text("user_message", "", "`user_message` is no text")?,
        agent_message: text(
            "agent_message",
            "permissionDecisionReason",
            "`agent_message` is no text",
        )?,
        context: text(
            "additional_context",
            "additionalContext",
            "`additional_context` is no text",
        )?,
        stops: !continues,
        env,
        updated_input,
        followup: followup.filter(|text| !text.trim().is_empty()),
    })
}

/// All answers as one, in their order.
pub(super) fn merge(answers: impl IntoIterator<Item = Answer>) -> Answer {
    let mut all = Answer::default();
    for answer in answers {
        all.permission = all.permission.max(answer.permission);
        join(&mut all.user_message, answer.user_message);
        join(&mut all.agent_message, answer.agent_message);
        join(&mut all.context, answer.context);
        all.stops |= answer.stops;
        all.env.extend(answer.env);
        all.updated_input = answer.updated_input.or(all.updated_input);
        all.followup = answer.followup.or(all.followup);
    }
    all
}

fn join(all: &mut Option<String>, more: Option<String>) {
    match (all.as_mut(), more) {
        (Some(all), Some(more)) => {
            all.push_str(BETWEEN);
            all.push_str(&more);
        }
        (None, more) => *all = more,
        (Some(_), None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::cursor::file::parse;
    use std::path::Path;

    fn entry(event: &str, fail_closed: bool) -> Entry {
        let text = format!(
            r#"{{"version":1,"hooks":{{"{event}":[{{"command":"x","failClosed":{fail_closed}}}]}}}}"#
        );
        parse(&text, Path::new("f"), Path::new("/")).unwrap().remove(0)
    }

    fn exited(code: i32, stdout: &str, stderr: &str) -> Ran {
        Ran::Exited { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
    }

    fn judged(event: &str, ran: &Ran) -> Answer {
        judge(&entry(event, false), ran).0
    }

    fn denied(reason: &str) -> Answer {
        Answer {
            permission: Some(Permission::Deny),
            agent_message: Some(reason.into()),
            ..Answer::default()
        }
    }

    #[test]
    fn exit_code_two_says_no_where_no_can_be_said() {
        assert_eq!(judged("preToolUse", &exited(2, "not here\n", "e")), denied("not here"));
        let by_stderr = denied("Hook blocked with message: why not");
        assert_eq!(judged("beforeShellExecution", &exited(2, "", "why not\n")), by_stderr);
        for event in ["sessionStart", "beforeSubmitPrompt"] {
            let answer = judged(event, &exited(2, "no", ""));
            assert!(answer.stops && answer.user_message.as_deref() == Some("no"), "{event}");
        }
        for event in ["stop", "postToolUse", "sessionEnd"] {
            assert_eq!(judged(event, &exited(2, "no", "")), Answer::default(), "{event}");
        }
    }

    #[test]
    fn what_fails_is_ignored_unless_it_fails_closed() {
        let signalled = Ran::Exited { code: None, stdout: "{}".into(), stderr: String::new() };
        let failures = [
            exited(1, r#"{"permission":"deny"}"#, ""),
            exited(0, "  \n", ""),
            signalled,
            Ran::TimedOut,
            Ran::NotStarted("no".into()),
        ];
        for ran in &failures {
            for event in ["preToolUse", "beforeReadFile", "subagentStart", "sessionStart", "stop"] {
                assert_eq!(judge(&entry(event, false), ran).0, Answer::default(), "{ran:?}");
            }
            let closed = judge(&entry("preToolUse", true), ran).0;
            assert_eq!(closed.permission, Some(Permission::Deny), "{ran:?}");
            assert!(judge(&entry("beforeSubmitPrompt", true), ran).0.stops, "{ran:?}");
            assert_eq!(judge(&entry("stop", true), ran).0, Answer::default(), "{ran:?}");
        }
    }

    #[test]
    fn an_unreadable_answer_blocks_whoever_asks_for_permission() {
        for said in ["allow", r#"{"permission":"maybe"}"#, r#"{"permission":true}"#, "[]", "{"] {
            for event in [
                "preToolUse",
                "beforeShellExecution",
                "beforeMCPExecution",
                "beforeReadFile",
                "subagentStart",
            ] {
                let answer = judged(event, &exited(0, said, ""));
                assert_eq!(answer.permission, Some(Permission::Deny), "{event}: {said}");
            }
            for event in ["stop", "postToolUse", "sessionStart", "afterFileEdit"] {
                assert_eq!(judged(event, &exited(0, said, "")), Answer::default(), "{event}");
            }
        }
        let ask = exited(0, r#"{"permission":"ask"}"#, "");
        assert_eq!(judged("beforeReadFile", &ask).permission, Some(Permission::Deny));
        assert_eq!(judged("preToolUse", &ask).permission, Some(Permission::Ask));
        assert_eq!(judged("preToolUse", &exited(0, "{}", "")), Answer::default());
    }

    #[test]
    fn noise_before_the_answer_is_passed_over() {
        for said in [
            "loading {x}\n{\"permission\":\"deny\",\"agent_message\":\"{no}\"}\n",
            "{\"permission\":\"allow\"} {\"permission\":\"deny\",\"agent_message\":\"{no}\"}",
        ] {
            assert_eq!(judged("preToolUse", &exited(0, said, "")), denied("{no}"), "{said}");
        }
        let after = exited(0, r#"{"permission":"allow"} bye"#, "");
        assert_eq!(judged("preToolUse", &after).permission, Some(Permission::Deny));
    }

    #[test]
    fn answers_in_the_words_of_claude_count_too() {
        let said = r#"{"hookSpecificOutput":{"permissionDecision":"deny",
            "permissionDecisionReason":"no","additionalContext":"c","updatedInput":{"command":"x"}}}"#;
        let answer = judged("preToolUse", &exited(0, said, ""));
        assert_eq!(
            (answer.permission, answer.agent_message),
            (Some(Permission::Deny), Some("no".into()))
        );
        assert_eq!(answer.context.as_deref(), Some("c"));
        assert!(answer.updated_input.is_some());
        let block = exited(0, r#"{"decision":"block","reason":"go on"}"#, "");
        assert_eq!(judged("stop", &block).followup.as_deref(), Some("go on"));
        assert_eq!(judged("postToolUse", &block).followup, None);
    }

    #[test]
    fn a_long_context_is_dropped_whole() {
        let said = |count: usize| {
            exited(0, &format!(r#"{{"additional_context":"{}"}}"#, "é".repeat(count)), "")
        };
        assert!(judged("preToolUse", &said(10_000)).context.is_some());
        assert_eq!(judged("preToolUse", &said(10_001)), Answer::default());
        let closed = judge(&entry("preToolUse", true), &said(10_001)).0;
        assert_eq!(closed.permission, Some(Permission::Deny));
        assert_eq!(judge(&entry("sessionStart", true), &said(10_001)).0, Answer::default());
    }

    #[test]
    fn the_strongest_permission_wins_and_texts_are_joined() {
        let answer = |text: &str| {
            let object: Map<String, Value> = serde_json::from_str(text).unwrap();
            read(Event::PreToolUse, &object).unwrap()
        };
        let all = merge([
            answer(
                r#"{"permission":"ask","user_message":"u1","continue":true,"env":{"A":"1","B":"1"},
                "updated_input":{"command":"one"},"additional_context":"c1"}"#,
            ),
            answer(
                r#"{"permission":"allow","user_message":"u2","continue":false,"env":{"B":"2"},
                "updated_input":{"command":"two"},"agent_message":"a"}"#,
            ),
            answer(r#"{"additional_context":"c3"}"#),
        ]);
        let expected = Answer {
            permission: Some(Permission::Ask),
            user_message: Some("u1\n\n---\n\nu2".into()),
            agent_message: Some("a".into()),
            context: Some("c1\n\n---\n\nc3".into()),
            stops: true,
            env: BTreeMap::from([("A".into(), "1".into()), ("B".into(), "2".into())]),
            updated_input: serde_json::from_str(r#"{"command":"two"}"#).unwrap(),
            followup: None,
        };
        assert_eq!(all, expected);
        let all = merge([answer(r#"{"permission":"deny"}"#), answer(r#"{"permission":"allow"}"#)]);
        assert_eq!(all.permission, Some(Permission::Deny));
    }
}
