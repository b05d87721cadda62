-- Append-only hash chain. `details` is redacted; personal values are salted hashes with the value in audit_personal.
CREATE TABLE audit (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    at              INTEGER NOT NULL,                 -- wall ms
    kind            TEXT NOT NULL,
    conversation_id INTEGER,
    turn_id         TEXT,
    effect_id       TEXT,
    actor           TEXT NOT NULL,
    details         TEXT NOT NULL,                    -- canonical JSON
    prev_hash       TEXT NOT NULL,
    hash            TEXT NOT NULL
);
CREATE INDEX audit_kind ON audit (kind, at);
CREATE INDEX audit_conversation ON audit (conversation_id, seq);
CREATE INDEX audit_effect ON audit (effect_id) WHERE effect_id IS NOT NULL;

-- Personal details beside the chain: erasing a row leaves the chain verifiable.
CREATE TABLE audit_personal (
    seq   INTEGER NOT NULL REFERENCES audit (seq),
    field TEXT NOT NULL,
    salt  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (seq, field)
);

-- How often each layer fired, per day (local date).
CREATE TABLE layer_counts (
    day   TEXT NOT NULL,
    layer TEXT NOT NULL,                              -- burst | guard | exact | calendar | near
    count INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, layer)
);
