//! Tool results, read for what a person wants to know of them.

use jiff::civil::DateTime;
use serde_json::Value;

use super::text::fold;

/// What became of an effect.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Outcome {
    Done,
    /// Written to a folder; nothing was sent.
    SavedAsFile,
    /// It had been done before, or stands there already.
    Already,
    /// The same, and something differs: the names of what does.
    Differs(Vec<String>),
    /// Waits for a person.
    NeedsApproval,
    /// Will happen by itself.
    Queued,
    /// Nobody knows whether an earlier attempt worked.
    Unresolved,
    Refused(String),
}

pub(super) struct Outcomes {
    pub outcome: Outcome,
    /// How a time was understood, and the like.
    pub notes: Vec<String>,
    /// Number of the approval that it waits for, as shown to people.
    pub approval: Option<String>,
}

pub(super) fn outcome(content: &str) -> Outcomes {
    let value: Value = serde_json::from_str(content).unwrap_or(Value::Null);
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    let status = text("status").unwrap_or_default();
    // `note` tells a model what to do; `notes` are facts for the person.
    let mut notes: Vec<String> = Vec::new();
    for note in value.get("notes").and_then(Value::as_array).into_iter().flatten() {
        notes.extend(note.as_str().map(str::to_owned));
    }
    let differences: Vec<String> = value
        .get("differences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|difference| difference.get("field").and_then(Value::as_str).map(str::to_owned))
        .collect();
    let already = flag("already_done") || ["already_done", "exists", "duplicate"].contains(&status.as_str());
    let outcome = match status.as_str() {
        _ if already && !differences.is_empty() => Outcome::Differs(differences),
        _ if already => Outcome::Already,
        "error" | "not_allowed" | "rejected" | "denied" | "not_done" | "failed" | "cancelled" | "expired" => {
            Outcome::Refused(text("message").or_else(|| text("reason")).or_else(|| text("error")).unwrap_or(status))
        }
        "awaiting_approval" | "pending" | "needs_approval" | "queued_for_approval" => Outcome::NeedsApproval,
        "queued" | "ready" | "in_flight" | "in_progress" | "dispatching" | "retryable" | "sending" => Outcome::Queued,
        "unresolved" | "unknown" => Outcome::Unresolved,
        _ if saved_only(&value) => Outcome::SavedAsFile,
        _ => Outcome::Done,
    };
    Outcomes { outcome, notes, approval: text("approval") }
}

fn saved_only(value: &Value) -> bool {
    value.pointer("/receipt/detail/saved_only").and_then(Value::as_bool) == Some(true)
}

/// An event of a list.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Listed {
    pub id: String,
    pub title: String,
    /// Local start as the tool gave it.
    pub start: Option<DateTime>,
    pub end: Option<DateTime>,
    pub all_day: bool,
}

pub(super) fn events(content: &str) -> Result<Vec<Listed>, String> {
    let value: Value = serde_json::from_str(content).unwrap_or(Value::Null);
    if value.get("status").and_then(Value::as_str) == Some("error") {
        return Err(value.get("message").and_then(Value::as_str).unwrap_or("error").to_owned());
    }
    let rows = value.get("events").or(Some(&value)).and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(rows
        .iter()
        .filter_map(|row| {
            let text = |name: &str| row.get(name).and_then(Value::as_str);
            let start = moment(row.get("start"));
            Some(Listed {
                id: text("id").or_else(|| text("event_id"))?.to_owned(),
                title: text("title").unwrap_or_default().to_owned(),
                all_day: row.get("all_day").and_then(Value::as_bool).unwrap_or(start.is_some_and(|(_, day)| day)),
                start: start.map(|(at, _)| at),
                end: moment(row.get("end")).map(|(at, _)| at),
            })
        })
        .collect())
}

/// A start as text, or as an object with the text in it. The flag: a date without a time.
fn moment(value: Option<&Value>) -> Option<(DateTime, bool)> {
    let value = value?;
    let text =
        value.as_str().or_else(|| ["at", "date", "dateTime"].iter().find_map(|name| value.get(*name)?.as_str()))?;
    match text.get(..19).or(text.get(..16)).and_then(|local| local.parse::<DateTime>().ok()) {
        Some(at) => Some((at, false)),
        None => text
            .get(..10)?
            .parse::<jiff::civil::Date>()
            .ok()
            .map(|date| (date.to_datetime(jiff::civil::Time::midnight()), true)),
    }
}

/// How well a title answers to the words asked for: 3 the same, 2 contains them, 1 shares a word, 0 not at all.
pub(super) fn likeness(title: &str, words: &str) -> u8 {
    let (title, words) = (fold(title), fold(words));
    if title == words {
        return 3;
    }
    if !words.is_empty() && (title.contains(&words) || words.contains(&title)) {
        return 2;
    }
    let shared =
        words.split_whitespace().any(|word| word.len() > 3 && title.split_whitespace().any(|other| other == word));
    u8::from(shared)
}

/// Rows of another list (`items`, `mails`, `actions`, `slots`): what can be said of each in one line.
pub(super) fn lines(content: &str, list: &[&str], fields: &[&str]) -> Option<Vec<String>> {
    let value: Value = serde_json::from_str(content).ok()?;
    let rows = list.iter().find_map(|name| value.get(*name)?.as_array())?;
    let line = |row: &Value| {
        let parts: Vec<String> = fields
            .iter()
            .filter_map(|field| match row.get(*field)? {
                Value::String(text) if !text.is_empty() => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            })
            .collect();
        parts.join(" · ")
    };
    Some(rows.iter().map(line).filter(|line| !line.is_empty()).collect())
}
