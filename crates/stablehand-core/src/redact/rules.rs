//! The published forms of tokens, one row each.
//!
//! The forms are those that the makers document and that secret scanners look for. A row has the words
//! (in lower case) without one of which the pattern is not tried. Rows that only guess come last.

use super::check;

/// One form.
pub(super) struct Rule {
    /// What the marker calls it.
    pub(super) kind: &'static str,
    /// One of these is in every text that the pattern fits, in any case.
    pub(super) words: &'static [&'static str],
    /// The secret is the group `s`, or all of it; `n` is the name that it is assigned to.
    pub(super) pattern: &'static str,
    /// What else must hold.
    pub(super) check: Check,
}

/// What must hold beside the pattern.
pub(super) enum Check {
    /// Nothing: the form is distinctive.
    Anywhere,
    /// It is no part of a longer word.
    Alone,
    /// The value looks like a secret, for this name.
    Value(fn(&str, &str) -> bool),
    /// It is the head of a key block, whose body is the secret.
    KeyBlock,
}

const fn form(kind: &'static str, words: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { kind, words, pattern, check: Check::Anywhere }
}

const fn alone(kind: &'static str, words: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { kind, words, pattern, check: Check::Alone }
}

const fn value(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
    fits: fn(&str, &str) -> bool,
) -> Rule {
    Rule { kind, words, pattern, check: Check::Value(fits) }
}

/// From this row on a value is only guessed to be a secret, by its name and by how random it looks.
pub(super) const GUESSES: usize = RULES.len() - 1;

/// What options are called whose value is a secret.
const OPTION_WORDS: &[&str] =
    &["-pass", "-token", "-api", "-secret", "-client-secret", "-private-token"];

/// `--password=X`.
const OPTION_IS: &str = r#"(?:^|[\s"'`\[(])--?(?:[a-z]{2,12}-){0,2}(?:password|passwd|pass|passphrase|token|api-?key|secret|secret-key|secret-access-key)=\\?["']?(?P<s>[^\s"'`\\,|;&]{3,300})"#;

/// `--password 'X'`.
const OPTION_QUOTED: &str = r#"(?:^|[\s"'`\[(])--?(?:[a-z]{2,12}-){0,2}(?:password|passwd|pass|passphrase|token|api-?key|secret|secret-key|secret-access-key)[\s=]{1,3}\\?["'](?P<s>[^"'\n\\]{3,300})\\?["']"#;

/// `--password X`, where the next word may as well be one of a sentence.
const OPTION_THEN: &str = r#"(?:^|[\s"'`\[(])--?(?:[a-z]{2,12}-){0,2}(?:password|passwd|pass|passphrase|token|api-?key|secret|secret-key|secret-access-key)\s{1,3}(?P<s>[^\s"'`\\,|;&]{3,300})"#;

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        words: &["private key"],
        pattern: r"-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----",
        check: Check::KeyBlock,
    },
    form("anthropic-key", &["sk-ant-"], r"sk-ant-[a-z]{2,12}[0-9]{2}-[A-Za-z0-9_-]{20,}"),
    form("openrouter-key", &["sk-or-"], r"sk-or-(?:v[0-9]-)?[0-9a-f]{40,}"),
    form(
        "openai-key",
        &["t3blbkfj", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-service-"],
        r"sk-(?:proj|svcacct|admin|service)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}",
    ),
    alone("model-key", &["sk-"], r"sk-[A-Za-z0-9]{32,}"),
    form("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}"),
    form("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{60,}"),
    form("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}"),
    alone("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37,}"),
    alone("huggingface-token", &["hf_", "api_org_"], r"(?:hf_|api_org_)[A-Za-z0-9]{34,}"),
    alone("cursor-key", &["key_"], r"key_[0-9a-f]{64}(?-u:\b)"),
    form("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,}"),
    form("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{60,}"),
    form(
        "gitlab-token",
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "gr1348941",
        ],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,}|GR1348941[A-Za-z0-9_-]{20,}",
    ),
    alone(
        "aws-key-id",
        &["akia", "asia", "abia", "acca", "a3t"],
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)",
    ),
    form("aws-bedrock-key", &["absk"], r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    alone("google-key", &["aiza"], r"AIza[A-Za-z0-9_-]{35}"),
    form(
        "google-token",
        &["ya29.", "gocspx-", "1//0"],
        r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{24,}|1//0[A-Za-z0-9_-]{40,}",
    ),
    form(
        "slack-token",
        &["xox", "xapp-"],
        r"xox[abeoprsx][.-][A-Za-z0-9.-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}",
    ),
    form(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_+-]{20,})",
    ),
    form(
        "stripe-key",
        &["k_live_", "k_test_", "k_prod_", "whsec_"],
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{24,}",
    ),
    alone("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36,}"),
    form("pypi-token", &["pypi-agei"], r"pypi-AgEI[A-Za-z0-9_-]{50,}"),
    form("jwt", &["eyj"], r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    form("sendgrid-key", &["sg."], r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}"),
    alone("twilio-key", &["sk"], r"SK[0-9a-f]{32}(?-u:\b)"),
    alone("mailgun-key", &["key-"], r"key-[0-9a-f]{32}(?-u:\b)"),
    form("digitalocean-token", &["_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    form(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    ),
    form("square-token", &["sq0"], r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    alone("telegram-token", &[":aa"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    form(
        "discord-webhook",
        &["/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]{15,}/[A-Za-z0-9_-]{40,})",
    ),
    form("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    alone(
        "notion-token",
        &["ntn_", "secret_"],
        r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}(?-u:\b)",
    ),
    form("doppler-token", &["dp."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{32,}"),
    alone("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    form("terraform-token", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    alone("databricks-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?(?-u:\b)"),
    form("newrelic-key", &["nrak-", "nrii-"], r"NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9-]{32}"),
    form(
        "grafana-token",
        &["glc_", "glsa_"],
        r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3}",
    ),
    form("postman-key", &["pmak-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    form("atlassian-token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{100,}"),
    form("docker-token", &["dckr_"], r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    form("azure-secret", &["q~"], r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    form("supabase-key", &["sb_secret_", "sbp_"], r"sb_secret_[A-Za-z0-9_-]{20,}|sbp_[a-f0-9]{40}"),
    form("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36,}"),
    form("age-key", &["age-secret-key-1"], r"AGE-SECRET-KEY-1[0-9A-Za-z]{50,}"),
    form(
        "sentry-token",
        &["sntrys_", "sntryu_"],
        r"sntryu_[a-f0-9]{64}|sntrys_[A-Za-z0-9+/=_-]{80,}",
    ),
    form("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}"),
    form("rubygems-key", &["rubygems_"], r"rubygems_[a-f0-9]{48}"),
    alone("crates-token", &["cio"], r"cio[A-Za-z0-9]{32}(?-u:\b)"),
    form("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,}"),
    form("figma-token", &["figd_"], r"figd_[A-Za-z0-9_-]{38,}"),
    alone("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}(?-u:\b)"),
    alone(
        "fly-token",
        &["fo1_", "fm1", "fm2"],
        r"fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{60,}={0,3}",
    ),
    // What was cut short for showing, long before anybody looked for secrets in it.
    alone(
        "cut-token",
        &["…"],
        r"(?P<s>(?:sk-(?:ant|proj|svcacct|admin|or)-|gh[pousr]_|github_pat_|gl(?:pat|rt|dt)-|AKIA|ASIA|AIza|ya29\.|GOCSPX-|xox[abeoprs]-|xapp-|[sr]k_(?:live|test)_|hf_|npm_|pypi-AgEI|eyJ|gsk_|xai-|pplx-|key_|r8_|hvs\.|do[opr]_v1_|SG\.|shp(?:at|ca|pa|ss)_|lin_api_|ntn_|sbp_|sb_secret_|dckr_pat_|figd_|glsa_|dapi)[A-Za-z0-9_./+-]{4,})…",
    ),
    value(
        "url-password",
        &["://"],
        r#"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@?#\[\]"'`<>\\]{0,100}:(?P<s>[^\s/"'`<>\[\]\\]{1,200})@"#,
        check::is_no_placeholder,
    ),
    value(
        "url-token",
        &["://"],
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<s>[A-Za-z0-9_.~-]{16,200})@",
        check::looks_random,
    ),
    value(
        "authorization",
        &["authorization"],
        r#"(?i)authorization\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?(?:bearer|basic|token|apikey|bot|digest|negotiate|ntlm|key)\s+(?P<s>[^\s"'`,;<>\[\]\\]{6,})"#,
        check::is_no_placeholder,
    ),
    value(
        "authorization",
        &["bearer"],
        r"(?i)bearer\s+(?P<s>[A-Za-z0-9._~+/=-]{16,})",
        check::looks_random,
    ),
    form(
        "cookie",
        &["cookie"],
        r#"(?i)(?-u:\b)(?:set-)?cookie\s?:\s{0,3}(?P<s>[^\s=;:"'\[\]]{1,64}=[^\r\n"'\\]{6,})"#,
    ),
    // Command lines and files that say which word is the password.
    value("password", OPTION_WORDS, OPTION_IS, check::is_given),
    value("password", OPTION_WORDS, OPTION_QUOTED, check::is_no_placeholder),
    value("password", OPTION_WORDS, OPTION_THEN, check::is_password_word),
    value(
        "password",
        &["curl", "wget", "http"],
        r#"(?:curl|wget|https?|xh)\s(?:[^\n|;&]{0,400}?\s)?(?:-[a-zA-Z]{0,6}u|--(?:proxy-)?user)[\s=]{0,3}["']?(?P<n>[^\s:"'/]{1,100}):(?P<s>[^\s"'/]{1,200})"#,
        check::is_login,
    ),
    value(
        "password",
        &["-u", "--user", "--proxy-user"],
        r#"(?:^|[\s"'`])(?:-u|--(?:proxy-)?user)[\s=]{1,3}["']?(?P<n>[^\s:"'/]{1,100}):(?P<s>[^\s"'/`]{1,200})"#,
        check::is_login_anywhere,
    ),
    value(
        "password",
        &["mysql", "mariadb"],
        r#"(?:mysql|mariadb)[a-z-]{0,10}\s(?:[^\n|;&]{0,400}?\s)?-p["']?(?P<s>[^\s"'|;&]{1,200})"#,
        check::is_given,
    ),
    value(
        "password",
        &["sshpass"],
        r#"sshpass\s(?:[^\n|;&]{0,100}?\s)?-p\s{0,3}["']?(?P<s>[^\s"'|;&]{1,200})"#,
        check::is_given,
    ),
    value(
        "password",
        &["pgpassword", "mysql_pwd", "sshpass", "rediscli_auth", "_passphrase"],
        r#"(?:PGPASSWORD|MYSQL_PWD|SSHPASS|REDISCLI_AUTH|[A-Z]{2,20}_PASSPHRASE)=\\?["'](?P<s>[^"'\n\\]{1,200})\\?["']"#,
        check::is_given,
    ),
    value(
        "password",
        &["pgpassword", "mysql_pwd", "sshpass", "rediscli_auth", "_passphrase"],
        r#"(?:PGPASSWORD|MYSQL_PWD|SSHPASS|REDISCLI_AUTH|[A-Z]{2,20}_PASSPHRASE)=\\?['"]?(?P<s>[^\s"'\\|;&]{1,200})"#,
        check::is_given,
    ),
    value(
        "password",
        &["_auth", "_password"],
        r#"(?::|^|\s)(?:_authToken|_auth|_password)\s?=\s?\\?["']?(?P<s>[^\s"'\\]{4,400})"#,
        check::is_given,
    ),
    value(
        "password",
        &["password"],
        r"(?:machine\s+\S{1,200}|default)\s+(?:(?:login|account)\s+\S{1,200}\s+){0,2}password\s+(?P<s>\S{1,200})",
        check::is_given,
    ),
    value(
        "password",
        &["password"],
        r"(?:(?m:^)[\t ]*|login\s+\S{1,200}\s+)password[\t ]+(?P<s>\S{1,200})[\t ]*(?m:$)",
        check::is_password_word,
    ),
    value(
        "password",
        &[":5432:", ":5433:", ":6432:", ":6543:", ":*:"],
        r"(?m)^[^\s:/]{1,100}:(?:[0-9]{4,5}|\*):[^\s:/]{1,64}:[^\s:/]{1,64}:(?P<s>[^\s:]{1,200})\r?$",
        check::is_given,
    ),
    value(
        "assigned",
        &["key", "token", "secret", "passw", "passphrase", "pwd", "credential", "auth"],
        r#"(?i)(?P<n>[a-z0-9_.-]{0,40}?(?:key|token|secret|passwo?r?d|passphrase|pwd|credentials?|auth)[a-z0-9_.-]{0,24}?)\\*["'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}\\*["'`]?(?P<s>[^\s"'`\\,;<>()\[\]{}|&$]{8,300})"#,
        check::is_assigned_secret,
    ),
];
