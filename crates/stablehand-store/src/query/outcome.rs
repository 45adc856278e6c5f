//! The words by which runs can be asked for, by how they ended or that they have not.

/// What `failed` stands for: every end that a person may want to look into.
const FAILED: [&str; 8] = [
    "hung",
    "limit_reached",
    "agent_error",
    "no_result",
    "truncated",
    "spawn_failed",
    "internal",
    "unfinished",
];

/// Returns all words that an outcome can be asked for by.
pub fn outcome_words() -> Vec<&'static str> {
    let others = ["interrupted", "reader_gone", "running"];
    ["success", "failed"].into_iter().chain(FAILED).chain(others).collect()
}

/// Returns true if a run that ended so is one to look into.
pub fn is_failure(outcome: &str) -> bool {
    FAILED.contains(&outcome)
}

/// Returns the outcomes that these words stand for.
pub fn outcomes_named(words: &[String]) -> Vec<String> {
    let meant = |word: &String| match word.as_str() {
        "failed" => FAILED.map(str::to_owned).to_vec(),
        _ => vec![word.clone()],
    };
    words.iter().flat_map(meant).collect()
}
