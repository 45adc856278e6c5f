//! Variables for an agent: which names there can be, which are secret, which no project may set.

use crate::RuleRef;
use std::fmt;

/// A variable, and where it was set.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The file and line; none on the command line.
    pub place: Option<RuleRef>,
}

impl fmt::Debug for Variable {
    /// Values end up in texts of failures and logs by accident; a secret must not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, shown(&self.name, &self.value))
    }
}

/// What is wrong with a variable.
pub fn fault(name: &str, value: &str) -> Option<String> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !letters || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(format!(
            "`{}` cannot be a variable: letters, digits and `_`, and no digit first",
            name.escape_debug()
        ));
    }
    value.contains('\0').then(|| format!("the value of `{name}` has a zero byte in it"))
}

/// What stands in place of a value that is not shown.
pub const HIDDEN: &str = "[redacted]";

/// The value as it may be shown.
pub fn shown<'v>(name: &str, value: &'v str) -> &'v str {
    if looks_secret(name) { HIDDEN } else { value }
}

/// Words in the names of secrets.
const SECRET: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "PRIVATE",
    "BEARER",
    "DSN",
    "WEBHOOK",
];

/// Short words, which count only as a whole part of a name: `PAT` is one, `PATH` is not.
const SECRET_PARTS: &[&str] = &["PASS", "PAT", "PWD", "PIN"];

/// Whether the name says that the value is a secret. Rather one too many.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name != "PWD"
        && (SECRET.iter().any(|word| name.contains(word))
            || name.split('_').any(|part| SECRET_PARTS.contains(&part)))
}

/// Names that decide which program runs, what it loads, whom it talks to, or where it finds its
/// settings and its keys.
const STEERING: &[&str] = &[
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "IFS",
    "ENV",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "TMPDIR",
    "TMP",
    "TEMP",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "CC",
    "CXX",
    "LD",
    "AR",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "CLASSPATH",
    "TERMINFO",
];

/// The same by their beginnings.
const STEERING_BEGINNINGS: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_",
    "GIT_",
    "SSH_",
    "SSL_",
    "PYTHON",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_EXTRA",
    "NODE_TLS",
    "NODE_REPL",
    "NPM_",
    "YARN_",
    "PNPM_",
    "BUN_",
    "DENO_",
    "PERL",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "PHP",
    "LUA_",
    "JAVA_",
    "_JAVA",
    "JDK_",
    "DOTNET_",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOPROXY",
    "GOSUM",
    "GONOSUM",
    "GOINSECURE",
    "GOTOOLCHAIN",
    "CARGO_",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP",
    "PIP_",
    "UV_",
    "CURL_",
    "WGET",
    "DOCKER_",
    "KUBE",
    "AWS_",
    "AZURE_",
    "XDG_",
    "GTK_",
    "QT_",
    "DBUS_",
    "STABLEHAND",
];

/// And by their endings.
const STEERING_ENDINGS: &[&str] = &[
    "_PROXY",
    "_URL",
    "_URI",
    "_HOST",
    "_ENDPOINT",
    "_BASE",
    "_SERVER",
    "_PATH",
    "_HOME",
    "_DIR",
    "_FILE",
    "_CONFIG",
    "_SETTINGS",
    "_OPTIONS",
    "_OPTS",
    "_FLAGS",
    "_ARGS",
    "_COMMAND",
    "_CMD",
    "_EDITOR",
    "_PAGER",
    "_SHELL",
    "_WRAPPER",
    "_PRELOAD",
    "_STARTUP",
    "_ASKPASS",
    "_CERT",
    "_BUNDLE",
    "_HELPER",
    "_HOOK",
    "_HOOKS",
    "_PLUGIN",
    "_PLUGINS",
];

/// Whether a variable can make a program run or load something else, or send what it knows
/// elsewhere. No file of a project may set one, trusted or not: trust is for what a project says of
/// its work, and nobody reads such a line as carefully as a command. Secrets count: a key of
/// somebody else's is an account of somebody else's. The list cannot be complete.
pub fn steers(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    looks_secret(&name)
        || STEERING.contains(&name.as_str())
        || STEERING_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || STEERING_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
