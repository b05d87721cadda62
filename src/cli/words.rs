//! Rows for people: one line each, the id where the next command needs it.

use serde_json::Value;

use crate::api::Request;

/// One row of the answer to `request`.
pub(super) fn in_words(request: &Request, row: &Value) -> String {
    match request {
        Request::Status => status(row),
        Request::Conversations => columns([
            field(row, "id"),
            field(row, "channel"),
            field(row, "title"),
            when(row, "last_at"),
            short(row, "last_text"),
        ]),
        Request::Conversation { .. } => {
            columns([when(row, "at"), padded(&field(row, "kind"), 8), field(row, "text").replace('\n', "\n    ")])
        }
        Request::Calendar { .. } => {
            let guests = list(row, "guests").join(", ");
            columns([when(row, "start"), when(row, "end"), field(row, "title"), guests, field(row, "id")])
        }
        Request::Approvals { .. } => columns([
            format!("#{}", field(row, "id")),
            field(row, "state"),
            field(row, "summary"),
            list(row, "marks").join(", "),
            decided(row),
        ]),
        Request::Decide { .. } => format!("#{} {}: {}", field(row, "id"), field(row, "state"), field(row, "summary")),
        Request::Evidence { .. } => columns([
            when(row, "created_at"),
            padded(&field(row, "state"), 9),
            field(row, "tool"),
            field(row, "summary"),
            field(row, "last_error"),
            field(row, "id"),
        ]),
        Request::EvidenceOf { .. } | Request::Resolve { .. } => evidence(row),
        Request::Duplicates => columns([
            when(row, "at"),
            padded(&field(row, "verdict"), 9),
            field(row, "tool"),
            field(row, "summary"),
            differences(row),
            field(row, "first_effect_id"),
        ]),
        Request::AuditVerify => verification(row),
        Request::Backup { .. } => format!("written: {}", field(row, "file")),
        Request::AuditExport { .. } => row.to_string(),
    }
}

fn field(row: &Value, name: &str) -> String {
    match row.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Date and time without seconds and offset: they are in the JSON.
fn when(row: &Value, name: &str) -> String {
    let text = field(row, name);
    match text.split_once('T') {
        Some((date, time)) => format!("{date} {}", time.get(..5).unwrap_or(time)),
        None => text,
    }
}

fn short(row: &Value, name: &str) -> String {
    let text = field(row, name).replace('\n', " ");
    if text.chars().count() > 60 { text.chars().take(60).chain(['…']).collect() } else { text }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

fn list(row: &Value, name: &str) -> Vec<String> {
    let items = row.get(name).and_then(Value::as_array);
    items.into_iter().flatten().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
}

fn columns<const N: usize>(parts: [String; N]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ").trim_end().to_owned()
}

fn decided(row: &Value) -> String {
    if field(row, "decided_at").is_empty() {
        return format!("expires {}", when(row, "expires_at"));
    }
    format!("{} by {} ({})", when(row, "decided_at"), field(row, "decided_by"), field(row, "surface"))
}

fn differences(row: &Value) -> String {
    let items = row.get("differences").and_then(Value::as_array);
    let texts: Vec<String> = items
        .into_iter()
        .flatten()
        .map(|item| format!("{}: {} -> {}", field(item, "field"), field(item, "first"), field(item, "now")))
        .collect();
    texts.join("; ")
}

fn evidence(row: &Value) -> String {
    let mut lines = vec![format!("{} {} ({})", field(row, "tool"), field(row, "summary"), field(row, "state"))];
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("  {name:<12}{text}"));
        }
    };
    add("id", field(row, "id"));
    add("account", field(row, "account"));
    add("asked", row.get("intent").map(|intent| field(intent, "request")).unwrap_or_default());
    add(
        "approval",
        row.get("approval")
            .filter(|a| !a.is_null())
            .map(|a| format!("#{} {} {}", field(a, "id"), field(a, "state"), decided(a)))
            .unwrap_or_default(),
    );
    for attempt in row.get("attempt_log").and_then(Value::as_array).into_iter().flatten() {
        let text = columns([
            when(attempt, "started_at"),
            field(attempt, "outcome"),
            format!("at {}", field(attempt, "phase")),
            field(attempt, "reply"),
        ]);
        add(&format!("attempt {}", field(attempt, "n")), text);
    }
    add("next", when(row, "next_attempt_at"));
    add("receipt", row.get("receipt").filter(|r| !r.is_null()).map(ToString::to_string).unwrap_or_default());
    for recipient in row.get("recipients").and_then(Value::as_array).into_iter().flatten() {
        add("recipient", columns([field(recipient, "address"), field(recipient, "state"), field(recipient, "reply")]));
    }
    add("error", field(row, "last_error"));
    lines.join("\n")
}

fn verification(row: &Value) -> String {
    match row.get("bad").filter(|bad| !bad.is_null()) {
        Some(bad) => format!("entry {}: {}", field(bad, "seq"), field(bad, "reason")),
        None => format!("{} entries, unbroken", field(row, "entries")),
    }
}

fn status(row: &Value) -> String {
    let mut lines = Vec::new();
    for edge in ["telegram", "http", "model", "mail", "calendar", "keychain", "database"] {
        let Some(state) = row.get(edge) else { continue };
        let text = columns([
            padded(edge, 10),
            field(state, "state"),
            field(state, "name"),
            field(state, "account"),
            when(state, "last_poll_at"),
            field(state, "reason"),
        ]);
        lines.push(text);
    }
    for group in ["queues", "guard_today"] {
        let counts: Vec<String> = row
            .get(group)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(_, count)| count.as_i64() != Some(0))
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let counts = if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") };
        lines.push(columns([padded(&group.replace('_', " "), 10), counts]));
    }
    for item in row.get("attention").and_then(Value::as_array).into_iter().flatten() {
        let text = columns([
            padded("attention", 10),
            field(item, "state"),
            field(item, "summary"),
            field(item, "reason"),
            field(item, "effect_id"),
        ]);
        lines.push(text);
    }
    lines.join("\n")
}
