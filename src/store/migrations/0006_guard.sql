-- The verdict of every admission, stored under its exact key: a replay gets it back.
CREATE TABLE admissions (
    idempotency_key TEXT PRIMARY KEY,
    identity        TEXT NOT NULL,
    verdict         TEXT NOT NULL,                    -- JSON domain::effect::Verdict as first given
    effect_id       TEXT REFERENCES effects (id),     -- the row inserted or found
    conversation_id INTEGER,
    turn_id         TEXT,
    created_at      INTEGER NOT NULL
);

-- Prevented and held duplicates with the first effect beside each.
CREATE TABLE prevented (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    at              INTEGER NOT NULL,                 -- wall ms
    verdict         TEXT NOT NULL CHECK (verdict IN ('duplicate', 'differs', 'pending', 'in_flight', 'unresolved', 'exists', 'near', 'replayed')),
    layer           TEXT NOT NULL CHECK (layer IN ('exact', 'guard', 'calendar', 'near')),
    tool            TEXT NOT NULL,
    account         TEXT NOT NULL,
    summary         TEXT NOT NULL,
    action          TEXT NOT NULL,                    -- JSON, the action that was not done
    intent          TEXT NOT NULL,                    -- JSON
    first_effect_id TEXT REFERENCES effects (id),     -- NULL when another program made the event
    first_external  TEXT,                             -- JSON of the event found on the server
    differences     TEXT NOT NULL DEFAULT '[]',       -- JSON [{field, first, now}]
    conversation_id INTEGER,
    turn_id         TEXT,
    done_anyway     TEXT REFERENCES effects (id)
);
CREATE INDEX prevented_at ON prevented (at DESC);
