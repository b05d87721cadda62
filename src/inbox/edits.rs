//! Edits of messages: of a waiting one the text is replaced; after its turn an edit is a new input that says so.

use super::accept::{Accepted, Case};
use super::error::InboxError;
use super::store::{self, InboundState};
use crate::domain::message::{InputKind, NewInput, Parts};

/// An owner's edit.
pub(super) fn edit(case: &Case<'_>, mut input: NewInput) -> Result<Accepted, InboxError> {
    let original = match &input.external_id {
        Some(external_id) => store::original(case.tx, case.conversation, external_id)?,
        None => None,
    };
    // Of a message from before our time: an input like any other.
    let Some(original) = original else { return case.message(&input, None) };
    if same_content(&original.text, &original.parts, &input) {
        return case.store(&input, InboundState::Discarded, Some("unchanged"), Some(original.id));
    }
    match original.state.as_str() {
        "buffered" | "merged" if original.state == "buffered" || original.queued => {
            // Turned into a stop word or a command, the message is that, and its old text does not run.
            if super::control::Control::of(&input).is_some() {
                return case.message(&input, Some(original.id));
            }
            let stale = case.stale(&input);
            store::replace_text(
                case.tx,
                original.id,
                &input.text,
                &merged(&original.parts, &input.parts),
                input.sent_at,
                stale,
            )?;
            case.store(&input, InboundState::Control, Some("replaced the waiting text"), Some(original.id))
        }
        "merged" => {
            input.kind = InputKind::Edit;
            input.parts.edited_from = Some(original.text);
            case.message(&input, Some(original.id))
        }
        // The original never ran (stopped, refused, a command): the new text stands for itself.
        _ => case.message(&input, Some(original.id)),
    }
}

/// Clients report an edit for link previews and removed keyboards too.
fn same_content(text: &str, parts: &Parts, input: &NewInput) -> bool {
    let files = |parts: &Parts| parts.media.iter().map(|media| media.file.clone()).collect::<Vec<_>>();
    text == input.text && files(parts) == files(&input.parts)
}

/// The edit's parts, with what was already fetched and heard.
fn merged(before: &Parts, after: &Parts) -> Parts {
    let mut parts = after.clone();
    for media in &mut parts.media {
        if let Some(known) = before.media.iter().find(|known| known.file == media.file) {
            media.attachment = media.attachment.take().or_else(|| known.attachment.clone());
            media.transcript = media.transcript.take().or_else(|| known.transcript.clone());
        }
    }
    parts.mentions_assistant |= before.mentions_assistant;
    parts
}
