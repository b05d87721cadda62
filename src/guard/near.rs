//! Near duplicates: advisory, never suppressing. The new call goes to a person with the earlier effect beside it.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::normalise::{Normalised, normalise, title};
use super::settings::{NearDuplicates, Settings};
use crate::domain::action::Action;
use crate::domain::effect::EffectState;
use crate::domain::time::{Elapsed, Now};
use crate::evidence::{EffectRow, decode_row, query, raw_row};
use crate::store::StoreError;

/// An earlier effect that resembles the new call.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct NearHit {
    pub row: EffectRow,
    /// Since it was accepted; of a live one, since it was asked for.
    pub age: Duration,
    /// It may or may not have happened.
    pub unresolved: bool,
}

/// Titles at least this similar count (normalised Damerau-Levenshtein: one slip in about five letters).
const SIMILAR: f64 = 0.8;
/// Rows that share a near key are few; more than these cannot be looked through by a person either.
const MOST: u32 = 50;

/// `older`: the same identity, accepted outside the window.
pub(super) fn find(
    connection: &Connection,
    now: Now,
    settings: &Settings,
    action: &Action,
    account: &str,
    normalised: &Normalised,
    older: Option<(&EffectRow, Duration)>,
) -> Result<Option<NearHit>, StoreError> {
    let asks = settings.near_duplicates == NearDuplicates::Ask;
    if let Some((row, age)) = older.filter(|(_, age)| asks && *age < settings.near_window) {
        return Ok(Some(NearHit { row: row.clone(), age, unresolved: false }));
    }
    let Some(near_key) = &normalised.near_key else { return Ok(None) };
    let since =
        Elapsed(now.elapsed.0.saturating_sub(i64::try_from(settings.near_window.as_millis()).unwrap_or(i64::MAX)));
    let mut statement = connection.prepare_cached(&query(
        "WHERE near_key = ?1
           AND (state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')
                OR (state = 'accepted' AND released IS NULL AND accepted_elapsed > ?2))
         ORDER BY created_at DESC, id DESC LIMIT ?3",
    ))?;
    let rows = statement.query_map(params![near_key, since, MOST], raw_row)?;
    for row in rows {
        let row = decode_row(row?)?;
        let unresolved = row.state == EffectState::Unknown && matches!(action, Action::SendEmail(_));
        if row.identity == normalised.identity || !(asks || unresolved) {
            continue;
        }
        if unresolved || resembles(&row, action, account, normalised, settings)? {
            let age = now.elapsed.since(row.accepted_elapsed.unwrap_or(row.created_elapsed));
            return Ok(Some(NearHit { row, age, unresolved }));
        }
    }
    Ok(None)
}

/// The near key is the same; what else must be alike.
fn resembles(
    row: &EffectRow,
    action: &Action,
    account: &str,
    normalised: &Normalised,
    settings: &Settings,
) -> Result<bool, StoreError> {
    match (&row.action, action) {
        (Action::CreateEvent(earlier), Action::CreateEvent(new)) => Ok(similar(&earlier.title, &new.title)),
        (Action::SendEmail(_), Action::SendEmail(_)) => {
            // Another attachment or another thread under the same words is another mail, not a rewording.
            let earlier = normalise(&row.action, &settings.zone, account)?;
            let body =
                |of: &Normalised| of.fields.iter().find(|field| field.name == "body").map(|field| field.normal.clone());
            Ok(body(&earlier) != body(normalised))
        }
        _ => Ok(false),
    }
}

/// One slip of the keyboard, or one title within the other.
pub(super) fn similar(one: &str, other: &str) -> bool {
    let (one, other) = (title(one), title(other));
    if strsim::normalized_damerau_levenshtein(&one, &other) >= SIMILAR && digits(&one) == digits(&other) {
        return true;
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let (one, other) = (words(&one), words(&other));
    !one.is_empty() && !other.is_empty() && (one.is_subset(&other) || other.is_subset(&one))
}

/// "Room 12" and "Room 13" are different on purpose.
fn digits(text: &str) -> String {
    text.chars().filter(|c| c.is_numeric()).collect()
}
