//! "Duplicado evitado": each prevented or held duplicate with the first effect beside it, and how often each layer fired.

use rusqlite::{Transaction, params};
use serde_json::Value;

use super::request::AdmitRequest;
use super::settings::Settings;
use crate::audit::{self, Actor, Entry, Kind, Layer, count_layer};
use crate::domain::effect::{Difference, Origin};
use crate::domain::ids::{EffectId, PreventedId, TurnId};
use crate::domain::time::Now;
use crate::store::StoreError;

/// Verdicts as `duplicates list` names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    Duplicate,
    Differs,
    Pending,
    InFlight,
    Unresolved,
    Exists,
    Near,
    Replayed,
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Differs => "differs",
            Self::Pending => "pending",
            Self::InFlight => "in_flight",
            Self::Unresolved => "unresolved",
            Self::Exists => "exists",
            Self::Near => "near",
            Self::Replayed => "replayed",
        }
    }

    fn layer(self) -> Layer {
        match self {
            Self::Duplicate | Self::Differs | Self::Pending | Self::InFlight | Self::Unresolved => Layer::Guard,
            Self::Exists => Layer::Calendar,
            Self::Near => Layer::Near,
            Self::Replayed => Layer::Exact,
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the columns of one row")]
pub(super) fn record(
    tx: &Transaction<'_>,
    now: Now,
    settings: &Settings,
    request: &AdmitRequest,
    why: Why,
    first: Option<&EffectId>,
    external: Option<&Value>,
    differences: &[Difference],
) -> Result<PreventedId, StoreError> {
    let layer = why.layer();
    tx.prepare_cached(
        "INSERT INTO prevented (at, verdict, layer, tool, account, summary, action, intent, first_effect_id, first_external,
             differences, conversation_id, turn_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        now.wall,
        why.as_str(),
        layer.as_str(),
        request.declaration.name,
        request.account,
        request.action.summary(),
        serde_json::to_string(&request.action)?,
        serde_json::to_string(&request.intent)?,
        first,
        external.map(Value::to_string),
        serde_json::to_string(differences)?,
        request.conversation,
        turn_of(&request.origin),
    ])?;
    let id = PreventedId(tx.last_insert_rowid());
    // One that waits for the same card is told, not counted: nothing was done yet, so nothing was prevented.
    if why == Why::Pending {
        return Ok(id);
    }
    count_layer(tx, day(now, settings), layer)?;
    let kind = if why == Why::Near { Kind::NearDuplicateHeld } else { Kind::DuplicatePrevented };
    let fields: Vec<&str> = differences.iter().map(|difference| difference.field.as_str()).collect();
    let mut entry = Entry::new(kind, Actor::System)
        .detail("prevented_id", id.0)
        .detail("verdict", why.as_str())
        .detail("layer", layer.as_str())
        .detail("tool", request.declaration.name.as_str())
        .detail("differs_in", serde_json::to_value(fields)?)
        .personal("summary", request.action.summary());
    entry.conversation = request.conversation;
    entry.turn = turn_of(&request.origin).cloned();
    entry.effect = first.cloned();
    audit::append(tx, now, entry)?;
    Ok(id)
}

fn day(now: Now, settings: &Settings) -> jiff::civil::Date {
    now.wall.timestamp().to_zoned_datetime(settings.zone.clone()).date()
}

pub(super) fn turn_of(origin: &Origin) -> Option<&TurnId> {
    match origin {
        Origin::Turn { turn, .. } => Some(turn),
        Origin::Person { .. } => None,
    }
}
