//! What an admission is asked, and what it needs.

use std::sync::Arc;

use super::settings::Settings;
use crate::approvals;
use crate::domain::action::Action;
use crate::domain::effect::{Intent, Origin};
use crate::domain::ids::{AccountId, ConversationId, EffectId, PreventedId};
use crate::domain::ports::{Calendar, Clock};
use crate::domain::provenance::TargetOrigin;
use crate::domain::tool::ToolDeclaration;
use crate::store::Store;

#[derive(Clone)]
pub struct Deps {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// Looked at before creating, and before a duplicate of one of its events is answered.
    pub calendar: Option<Arc<dyn Calendar>>,
    pub settings: Settings,
    /// Policies, ids, targets and the queue's settings: approvals and effects are born in the same transaction.
    pub rules: approvals::Rules,
    /// Mails are only written to a folder: cards say so.
    pub mail_saves_only: bool,
}

/// One effect that somebody asks for.
#[derive(Clone, Debug)]
pub struct AdmitRequest {
    /// Literal, as it will be shown and as it will leave.
    pub action: Action,
    pub declaration: ToolDeclaration,
    /// The account acted on.
    pub account: AccountId,
    /// Which effect target performs it: `calendar`, `mail`, `mcp:SERVER`.
    pub target: String,
    pub intent: Intent,
    pub origin: Origin,
    pub conversation: Option<ConversationId>,
    /// Age in seconds of the request when it was stale.
    pub stale_seconds: Option<i64>,
    /// The model says that a second occurrence is meant: turns a duplicate into a question, bypasses nothing.
    pub repeat: bool,
    /// Where every target (recipient, guest, calendar, URL) comes from. What is not named counts as unseen.
    pub provenance: Vec<TargetOrigin>,
}

/// What only a person's act can add.
#[derive(Clone, Debug, Default)]
pub(super) struct ByPerson {
    /// `surface` and who, when the act itself approves exactly this action.
    pub approves: Option<(approvals::Surface, String)>,
    /// The effect it is edited from, withdrawn in the same transaction if it still waits.
    pub replaces: Option<EffectId>,
    /// The prevented duplicate that is done anyway.
    pub prevented: Option<PreventedId>,
}
