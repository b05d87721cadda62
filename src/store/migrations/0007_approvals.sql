-- One approval object for all surfaces; deciding is a compare-and-set on `state`.
CREATE TABLE approvals (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    effect_id       TEXT NOT NULL REFERENCES effects (id),
    state           TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired')),
    literal_hash    TEXT NOT NULL,                    -- of exactly what was shown
    token           TEXT NOT NULL UNIQUE,             -- opaque, for callback data
    marks           TEXT NOT NULL DEFAULT '[]',       -- JSON [mark]
    notes           TEXT NOT NULL DEFAULT '{}',       -- JSON: origin of targets, near effect, differences, age
    summary         TEXT NOT NULL,
    conversation_id INTEGER,
    requested_at    INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,                 -- wall ms, for display
    expires_elapsed INTEGER NOT NULL,                 -- elapsed ms: what decides
    reminded        INTEGER NOT NULL DEFAULT 0,
    decided_at      INTEGER,
    decided_by      TEXT,                             -- who
    surface         TEXT,                             -- telegram | window | notification | cli | http
    reason          TEXT                              -- edited, stopped, restored, ...
);
CREATE UNIQUE INDEX approvals_pending ON approvals (effect_id) WHERE state = 'pending';
CREATE INDEX approvals_state ON approvals (state, requested_at);

-- Where a card was shown, so that every surface ends in the same state.
CREATE TABLE approval_cards (
    approval_id INTEGER NOT NULL REFERENCES approvals (id),
    outbound_id INTEGER NOT NULL REFERENCES outbound (id),
    closed      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (approval_id, outbound_id)
);
