-- Where each source stands. For Telegram one row per bot id.
CREATE TABLE channel_cursors (
    channel       TEXT NOT NULL,
    account       TEXT NOT NULL,
    cursor        INTEGER NOT NULL,                   -- next getUpdates offset
    last_poll_at  INTEGER,                            -- wall ms of the last completed poll
    PRIMARY KEY (channel, account)
);

-- Every accepted input, stored before anything else happens to it.
CREATE TABLE inbound (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id  INTEGER REFERENCES conversations (id),
    channel          TEXT NOT NULL,
    dedupe_key       TEXT NOT NULL UNIQUE,            -- the channel's own identity of this input
    kind             TEXT NOT NULL CHECK (kind IN ('message', 'edit', 'tap', 'command', 'schedule', 'service', 'poison')),
    state            TEXT NOT NULL CHECK (state IN ('buffered', 'merged', 'control', 'discarded', 'failed')),
    reason           TEXT,                            -- why control, discarded or failed
    external_id      TEXT,                            -- the channel's message id
    sender_id        TEXT NOT NULL,
    sender_name      TEXT NOT NULL DEFAULT '',
    owner            INTEGER NOT NULL DEFAULT 0,      -- 1: a paired person
    text             TEXT NOT NULL DEFAULT '',
    parts            TEXT NOT NULL DEFAULT '{}',      -- domain::message::Parts as JSON
    edit_of          INTEGER REFERENCES inbound (id),
    sent_at          INTEGER NOT NULL,                -- wall ms, by the sender's date
    received_at      INTEGER NOT NULL,                -- wall ms
    received_elapsed INTEGER NOT NULL,                -- elapsed ms
    stale            INTEGER NOT NULL DEFAULT 0,
    burst_id         INTEGER REFERENCES bursts (id)
);
CREATE INDEX inbound_buffered ON inbound (conversation_id, sender_id, id) WHERE state = 'buffered';
CREATE INDEX inbound_conversation ON inbound (conversation_id, id);
CREATE INDEX inbound_external ON inbound (conversation_id, external_id);
CREATE INDEX inbound_burst ON inbound (burst_id);

-- Paired people per channel; telegram.owners of the configuration counts too.
CREATE TABLE owners (
    channel    TEXT NOT NULL,
    sender_id  TEXT NOT NULL,
    name       TEXT NOT NULL DEFAULT '',
    paired_at  INTEGER NOT NULL,
    PRIMARY KEY (channel, sender_id)
);
