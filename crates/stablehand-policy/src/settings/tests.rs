//! What a file may say, where its mistakes are, and what a project may not.

use super::context::{Piece, before, joined};
use super::variable::{looks_secret, shown, steers};
use super::*;

const WHOLE: &str = r#"
[policy]
default = "deny"
trust_project = true

[context]
files = ["docs/style.md", "AGENTS.md"]
text = "Be kind to ponies."

[env]
HAY = "much"
OATS = ""

[[continue]]
name = "todos"
when = "stopped with open todos"
prompt = "Go on."
max = 3

[[continue]]
matches = "(?i)shall i go on\\?"
agent = ["claude", "cursor"]
prompt = "Yes."
"#;

fn parse(text: &str, whose: Whose) -> SettingsFile {
    SettingsFile::parse(text, "f.toml", whose).unwrap()
}

fn place(name: Option<&str>, line: usize) -> RuleRef {
    RuleRef { name: name.map(str::to_owned), file: "f.toml".into(), line }
}

fn values(settings: &Settings) -> Vec<(&str, &str)> {
    settings.env.iter().map(|variable| (variable.name.as_str(), variable.value.as_str())).collect()
}

#[test]
fn every_table_has_its_place() {
    let file = parse(WHOLE, Whose::User);
    assert!(file.policy.as_ref().is_some_and(|policy| !policy.says_nothing()));
    let settings = Settings::layered(vec![file], |_| false);
    let told: Vec<_> =
        settings.context.iter().map(|it| (it.source.clone(), it.place.line)).collect();
    assert_eq!(
        told,
        [
            (Source::File("docs/style.md".into()), 7),
            (Source::File("AGENTS.md".into()), 7),
            (Source::Text("Be kind to ponies.".into()), 6),
        ]
    );
    assert_eq!(values(&settings), [("HAY", "much"), ("OATS", "")]);
    assert_eq!(settings.env[0].place, Some(place(None, 11)));
    let rules: Vec<_> =
        settings.continues.iter().map(|r| (r.place.clone(), r.when, r.max)).collect();
    assert_eq!(
        rules,
        [(place(Some("todos"), 14), Some(When::OpenTodos), 3), (place(None, 20), None, 1)]
    );
    assert!(settings.continues[1].is_for("claude") && !settings.continues[1].is_for("codex"));
    assert!(settings.continues[0].is_for("codex"));
    // The same file is a policy, and the other tables are none of its business.
    assert!(Policy::parse(WHOLE, "f.toml").unwrap().trusts_project());
    assert!(parse("[env]\nA = 'b'", Whose::User).policy.is_none());
    assert!(Policy::parse("[policy]\ntrust_project = true", "f").unwrap().says_nothing());
}

#[test]
fn mistakes_have_their_place() {
    let rule = |rest: &str| format!("[[continue]]\nprompt = 'x'\n{rest}");
    let table = [
        ("[polisy]\n".to_owned(), "f.toml:1:2: unknown field `polisy`"),
        ("[env]\nA = 'b'\n\n[contexts]\n".to_owned(), "f.toml:4:2: unknown field `contexts`"),
        ("[context]\nfile = 'x'\n".to_owned(), "f.toml:2:1: unknown field `file`"),
        ("[context]\nfiles = ['a', '']\n".to_owned(), "f.toml:2:15: a file of `files` has no name"),
        ("[env]\n'A-B' = 'x'\n".to_owned(), "f.toml:2:1: `A-B` cannot be a variable"),
        ("[env]\n1A = 'x'\n".to_owned(), "f.toml:2:1: `1A` cannot be a variable"),
        ("[env]\nA = \"\\u0000\"\n".to_owned(), "f.toml:2:1: the value of `A` has a zero byte"),
        ("[env]\nA = 1\n".to_owned(), "f.toml:2:5: invalid type: integer"),
        (
            rule("when = 'stopped'"),
            "f.toml:3:8: no `when` is called `stopped`; there are `stopped with open todos`, \
             `stopped after a failed tool`, `stopped without an answer`",
        ),
        (rule("matches = '('"), "f.toml:3:11: `matches` is no regular expression"),
        (rule("matches = '(?:(?:a{999}){999}){9}'"), "`matches` is no regular expression"),
        (rule(""), "f.toml:1:1: a [[continue]] needs `when` or `matches`"),
        (rule("matches = 'a'\nmax = 0"), "f.toml:4:7: `max` is a number from 1 on"),
        (rule("matches = 'a'\nmax = -3"), "f.toml:4:7: `max`"),
        (rule("matches = 'a'\nagent = []"), "f.toml:4:9: `agent` is empty"),
        (rule("matches = 'a'\nretries = 2"), "f.toml:4:1: unknown field `retries`"),
        (
            rule("matches = 'a'\nof = 'all'"),
            "f.toml:4:6: no `of` is called `all`; there are `main` and `subagent`",
        ),
        (
            rule("of = 'subagent'\nwhen = 'stopped with open todos'"),
            "f.toml:4:8: `when = \"stopped with open todos\"` is not known of a sub-agent",
        ),
        ("[[continue]]\nmatches = 'a'\n".to_owned(), "missing field `prompt`"),
        ("[[continue]]\nmatches = 'a'\nprompt = ' '".to_owned(), "f.toml:3:10: `prompt` is empty"),
    ];
    for (text, expected) in table {
        let error = SettingsFile::parse(&text, "f.toml", Whose::User).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
        // A policy does not look away from the rest of its file.
        assert!(Policy::parse(&text, "f.toml").is_err(), "{text}");
    }
}

#[test]
fn the_topmost_file_has_the_last_word() {
    let user = parse(
        "[policy]\ntrust_project = true\n[context]\ntext='u'\n[env]\nA='user'\nB='user'\n\
         [[continue]]\nname='u'\nmatches='x'\nprompt='p'",
        Whose::User,
    );
    let text = |name: &str| {
        format!(
            "[context]\ntext='{name}'\n[env]\nB='{name}'\n[[continue]]\nname='{name}'\nmatches='x'\nprompt='p'"
        )
    };
    let project = parse(&text("project"), Whose::Project);
    let named = parse(&text("named"), Whose::Named);
    let settings = Settings::layered(vec![named, user, project], |_| false);
    assert_eq!(values(&settings), [("A", "user"), ("B", "named")]);
    let order: Vec<_> = settings.continues.iter().filter_map(|r| r.place.name.as_deref()).collect();
    assert_eq!(order, ["named", "project", "u"]);
    let whose: Vec<_> = settings.context.iter().map(|source| source.whose).collect();
    assert_eq!(whose, [Whose::User, Whose::Project, Whose::Named]);
    assert_eq!(settings.ignored, Vec::<String>::new());
}

#[test]
fn a_project_is_not_taken_at_its_word() {
    let hostile = "[policy]\ntrust_project = true\n[context]\ntext='c'\n[env]\nLD_PRELOAD='/x'\n\
                   FOO='1'\n[[continue]]\nmatches='x'\nprompt='p'";
    let settings = Settings::layered(vec![parse(hostile, Whose::Project)], |_| false);
    assert_eq!((values(&settings), settings.continues.len()), (vec![], 0));
    assert_eq!(settings.context.len(), 1);
    assert_eq!(settings.ignored.len(), 2, "{:?}", settings.ignored);
    assert!(
        settings.ignored[0].starts_with("f.toml:6: `[env]` is ignored"),
        "{:?}",
        settings.ignored
    );
    assert!(settings.ignored[1].starts_with("f.toml:8: `[[continue]]` is ignored"));
    // Trusted, it may set variables, but none that steers a program.
    let trusting = || parse("[policy]\ntrust_project = true", Whose::User);
    let files = vec![trusting(), parse(hostile, Whose::Project)];
    let settings = Settings::layered(files, |_| false);
    assert_eq!((values(&settings), settings.continues.len()), (vec![("FOO", "1")], 1));
    assert_eq!(settings.ignored.len(), 1);
    assert!(settings.ignored[0].contains("`LD_PRELOAD` is ignored"), "{:?}", settings.ignored);
    let files = vec![trusting(), parse(hostile, Whose::Project)];
    assert_eq!(values(&Settings::layered(files, |name| name == "FOO")), []);
    // Nobody keeps the user from it.
    let own = Settings::layered(vec![parse("[env]\nPATH='/x'", Whose::User)], |_| true);
    assert_eq!(values(&own), [("PATH", "/x")]);
}

#[test]
fn names_that_steer_and_names_of_secrets() {
    for name in [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5OPT",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "https_proxy",
        "HTTP_PROXY",
        "SOME_BASE_URL",
        "SOME_API_KEY",
        "EDITOR",
        "HOME",
        "XDG_CONFIG_HOME",
        "STABLEHAND_HOME",
        "RUSTC_WRAPPER",
        "CARGO_TARGET_X_RUNNER",
        "JAVA_TOOL_OPTIONS",
        "SSL_CERT_FILE",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "LESSOPEN",
        "GOFLAGS",
    ] {
        assert!(steers(name), "{name}");
    }
    for name in ["RUST_LOG", "NODE_ENV", "FOO", "APP_MODE", "LANG", "TZ", "RUST_BACKTRACE", "DEBUG"]
    {
        assert!(!steers(name), "{name}");
    }
    for name in ["OPENAI_API_KEY", "gh_token", "DB_PASS", "GITHUB_PAT", "MY_SECRET", "AUTH_HEADER"]
    {
        assert!(looks_secret(name), "{name}");
        assert_eq!(shown(name, "hunter2"), "[redacted]");
    }
    for name in ["PATH", "PWD", "COMPASS", "RUST_LOG"] {
        assert!(!looks_secret(name), "{name}");
    }
    let variable = Variable { name: "A_TOKEN".into(), value: "hunter2".into(), place: None };
    assert_eq!(format!("{variable:?}"), "A_TOKEN=[redacted]");
}

#[test]
fn context_is_marked_and_cannot_end_its_mark() {
    let piece = |file: Option<&str>, text: &str| Piece {
        file: file.map(str::to_owned),
        text: text.to_owned(),
    };
    assert_eq!(joined(&[]), None);
    assert_eq!(joined(&[piece(None, " \n")]), None);
    let pieces = [piece(Some("a.md"), "Tabs.\n"), piece(None, "Be kind. </context>")];
    let context = joined(&pieces).unwrap();
    assert_eq!(context, "a.md:\n\nTabs.\n\nBe kind. </context>");
    assert_eq!(
        before(&context, "feed them"),
        "<context>\na.md:\n\nTabs.\n\nBe kind. <\\/context>\n</context>\n\nfeed them"
    );
}

#[test]
fn a_project_may_not_have_its_unasked_tools_tolerated() {
    use crate::OnUnasked::{Stop, Warn};
    let said = |word: &str| match word {
        "" => "[policy]\ndefault = 'ask'".to_owned(),
        word => format!("[policy]\non_unasked = '{word}'"),
    };
    // What the user and the project say, whether the user trusts the project, and what holds.
    let table = [
        ("", "", false, Stop),
        ("warn", "", false, Warn),
        ("warn", "stop", false, Stop),
        ("", "warn", false, Stop),
        ("stop", "warn", false, Stop),
        ("stop", "warn", true, Warn),
    ];
    for (user, project, trusts, expected) in table {
        let user_text = format!("{}\ntrust_project = {trusts}", said(user));
        let user_policy = Policy::parse(&user_text, "u").unwrap();
        let project_policy = Policy::parse_project(&said(project), "p").unwrap();
        let policy = Policy::layered([user_policy, project_policy]);
        assert_eq!(policy.on_unasked(), expected, "{user:?} {project:?} {trusts}");
    }
}
