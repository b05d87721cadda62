-- One row per effect: intent, normalised action, identity, attempts, receipt.
CREATE TABLE effects (
    id                   TEXT PRIMARY KEY,
    tool                 TEXT NOT NULL,
    target               TEXT NOT NULL,               -- calendar | mail | mcp:SERVER | ...: which EffectTarget performs it
    account              TEXT NOT NULL,               -- the account acted on
    state                TEXT NOT NULL CHECK (state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown',
                             'accepted', 'rejected', 'denied', 'expired', 'cancelled', 'reverted')),
    partial              INTEGER NOT NULL DEFAULT 0,  -- accepted for some recipients only
    idempotency_key      TEXT NOT NULL UNIQUE,        -- exact key: hash of (origin, ordinal, tool, account); never expires
    identity             TEXT NOT NULL,               -- semantic fingerprint, SHA-256 hex
    digest               TEXT NOT NULL,               -- of the whole normalised action
    literal_hash         TEXT NOT NULL,               -- of the action exactly as shown and as it will leave
    normalisation        INTEGER NOT NULL,            -- version of the canonical form
    near_key             TEXT,                        -- what near duplicates share (same start; sender, recipients and subject)
    intent               TEXT NOT NULL,               -- JSON domain::effect::Intent
    action               TEXT NOT NULL,               -- JSON domain::action::Action, literal
    summary              TEXT NOT NULL,               -- title or subject
    conversation_id      INTEGER REFERENCES conversations (id),
    turn_id              TEXT REFERENCES turns (id),
    call_id              TEXT,
    repeat_of            TEXT REFERENCES effects (id),-- a person's second occurrence on purpose
    replaces             TEXT REFERENCES effects (id),-- edited or corrected from
    payload              BLOB,                        -- frozen bytes, fixed when the row becomes ready
    message_id           TEXT,                        -- mail: ours
    attempts             INTEGER NOT NULL DEFAULT 0,
    epoch                INTEGER NOT NULL DEFAULT 0,  -- raised by each claim
    claimed_by           TEXT,
    lease_until          INTEGER,                     -- elapsed ms
    next_attempt_at      INTEGER,                     -- wall ms, for display
    next_attempt_elapsed INTEGER,                     -- elapsed ms: due time of ready (hold), retryable (backoff) and unknown (reconcile)
    first_attempt_elapsed INTEGER,                    -- elapsed ms, for give_up_after
    unknown_elapsed      INTEGER,                     -- elapsed ms when it became unknown
    reconcile_step       INTEGER NOT NULL DEFAULT 0,
    left_by_person       INTEGER NOT NULL DEFAULT 0,  -- "leave it": still blocks, off the attention list
    receipt              TEXT,                        -- JSON domain::effect::Receipt
    provider_id          TEXT,
    last_error           TEXT,
    accepted_elapsed     INTEGER,                     -- elapsed ms
    accepted_at          INTEGER,
    released             TEXT,                        -- why its identity no longer blocks (deleted, changed on the server, later update)
    told                 INTEGER NOT NULL DEFAULT 0,  -- 1: its conversation was told queued, pending or in progress and wants the outcome line
    created_at           INTEGER NOT NULL,
    created_elapsed      INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL
);
-- Backs admission: never two live effects of one identity.
CREATE UNIQUE INDEX effects_live ON effects (identity)
    WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown');
CREATE INDEX effects_identity ON effects (identity, accepted_elapsed);
CREATE INDEX effects_near ON effects (near_key, accepted_elapsed) WHERE near_key IS NOT NULL;
CREATE INDEX effects_due ON effects (next_attempt_elapsed) WHERE state IN ('ready', 'retryable', 'unknown');
CREATE INDEX effects_open ON effects (state, created_at)
    WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown');
CREATE INDEX effects_turn ON effects (turn_id);
CREATE INDEX effects_created ON effects (created_at DESC);
CREATE INDEX effects_message_id ON effects (message_id) WHERE message_id IS NOT NULL;

-- Conversations beside the effect's own that were told it is pending or in progress, and get the outcome line too.
CREATE TABLE effect_listeners (
    effect_id       TEXT NOT NULL REFERENCES effects (id),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    PRIMARY KEY (effect_id, conversation_id)
);

CREATE TABLE effect_attempts (
    effect_id  TEXT NOT NULL REFERENCES effects (id),
    n          INTEGER NOT NULL,                      -- the epoch of the claim
    phase      TEXT NOT NULL,                         -- how far it came: connect, mail_from, rcpt, data, final_dot, request, ...
    reply      TEXT,                                  -- the provider's words, redacted
    outcome    TEXT,                                  -- accepted | rejected | retryable | unknown; NULL while running
    late       INTEGER NOT NULL DEFAULT 0,            -- result of a stale owner, kept as evidence
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (effect_id, n)
);

CREATE TABLE effect_recipients (
    effect_id TEXT NOT NULL REFERENCES effects (id),
    address   TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'rejected', 'failed', 'bounced')),
    reply     TEXT,
    PRIMARY KEY (effect_id, address)
);

-- Mail rows under their e-mail names.
CREATE VIEW email_steps AS
SELECT id, idempotency_key,
       CASE WHEN state IN ('awaiting_approval', 'ready', 'dispatching') THEN 'pending' ELSE state END AS state,
       state = 'awaiting_approval' AS awaiting_approval,
       attempts, next_attempt_at, message_id, provider_id AS provider_message_id, last_error,
       partial, conversation_id, turn_id, created_at, updated_at
FROM effects
WHERE tool = 'send_email' AND state NOT IN ('denied', 'expired', 'cancelled');
