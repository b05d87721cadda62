//! What is wrong with an action before anything is asked of anyone: refused with words that a model can act on.

use super::error::GuardError;
use super::settings::Settings;
use crate::domain::action::{Action, SendEmail};
use crate::domain::address::{Mailbox, parse_message_id};
use crate::domain::header::check_header_text;
use crate::domain::when;

/// Header injection, malformed or nested recipient lists, impossible times, sizes beyond the limits.
pub(super) fn validate(action: &Action, settings: &Settings) -> Result<(), GuardError> {
    match action {
        Action::SendEmail(mail) => validate_mail(mail, settings),
        Action::CreateEvent(event) => {
            if event.title.trim().is_empty() {
                return Err(GuardError::refused("title", "it is empty"));
            }
            when::settle_end(&event.start, event.end.as_ref())
                .map_err(|error| GuardError::refused("end_datetime", error))?;
            addresses("guests", &event.guests)
        }
        Action::UpdateEvent(update) => {
            if update.event_id.trim().is_empty() {
                return Err(GuardError::refused("event_id", "it is empty"));
            }
            if update.changes == Default::default() {
                return Err(GuardError::refused("changes", "nothing to change was given"));
            }
            addresses("guests", update.changes.guests.as_deref().unwrap_or_default())
        }
        Action::DeleteEvent(delete) if delete.event_id.trim().is_empty() => {
            Err(GuardError::refused("event_id", "it is empty"))
        }
        Action::DeleteEvent(_) | Action::Other(_) => Ok(()),
    }
}

fn validate_mail(mail: &SendEmail, settings: &Settings) -> Result<(), GuardError> {
    addresses("from", std::slice::from_ref(&mail.from))?;
    addresses("to", &mail.to)?;
    addresses("cc", &mail.cc)?;
    addresses("bcc", &mail.bcc)?;
    if mail.to.is_empty() && mail.cc.is_empty() && mail.bcc.is_empty() {
        return Err(GuardError::refused("to", "nobody is named"));
    }
    check_header_text("the subject", &mail.subject).map_err(|error| GuardError::refused("subject", error))?;
    for id in mail.in_reply_to.iter().chain(&mail.references).chain(&mail.thread) {
        parse_message_id(id).map_err(|error| GuardError::refused("in_reply_to", error))?;
    }
    for file in &mail.attachments {
        check_header_text("an attachment's name", &file.name)
            .and_then(|()| check_header_text("an attachment's type", &file.mime))
            .map_err(|error| GuardError::refused("attachments", error))?;
    }
    let body = mail.body.len() + mail.html.as_ref().map_or(0, String::len);
    if body > settings.largest_body {
        return Err(GuardError::refused(
            "body",
            format!("it has {body} bytes, the limit is {}", settings.largest_body),
        ));
    }
    let attached: i64 = mail.attachments.iter().map(|file| file.bytes).sum();
    if attached > settings.largest_attachments {
        return Err(GuardError::refused(
            "attachments",
            format!("they have {attached} bytes, the limit is {}", settings.largest_attachments),
        ));
    }
    Ok(())
}

fn addresses(argument: &str, list: &[String]) -> Result<(), GuardError> {
    for address in list {
        Mailbox::parse(address).map_err(|error| GuardError::refused(argument, error))?;
    }
    Ok(())
}
