//! Mistakes in the file, each with its place and what would be right.

use std::path::PathBuf;

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Problem {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Dotted; empty when the file is not TOML at all.
    pub key: String,
    pub message: String,
    /// What is allowed there.
    pub allowed: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}", listed(file, problems))]
    Invalid { file: PathBuf, problems: Vec<Problem> },
    #[error("the configuration {} cannot be read: {source}", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("the configuration {} cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: std::io::Error },
    /// Neither a home folder nor an explicit path is known.
    #[error("no {what} folder is known for this user: give {option}")]
    NoFolder { what: &'static str, option: &'static str },
}

fn listed(file: &std::path::Path, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let place = format!("{}:{}:{}", file.display(), problem.line, problem.column);
            let key = if problem.key.is_empty() { String::new() } else { format!(" {}:", problem.key) };
            let allowed =
                if problem.allowed.is_empty() { String::new() } else { format!("; allowed: {}", problem.allowed) };
            format!("{place}:{key} {}{allowed}", problem.message)
        })
        .collect();
    lines.join("\n")
}
