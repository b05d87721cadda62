-- Every message of the agent to a person.
CREATE TABLE outbound (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    sequence        INTEGER NOT NULL,                 -- per conversation
    turn_id         TEXT REFERENCES turns (id),
    turn_epoch      INTEGER,
    ordinal         INTEGER,                          -- within the turn
    kind            TEXT NOT NULL CHECK (kind IN ('message', 'reply', 'card', 'notice', 'control')),
    mode            TEXT NOT NULL CHECK (mode IN ('immediate', 'batched')),
    fell_back       INTEGER NOT NULL DEFAULT 0,
    state           TEXT NOT NULL CHECK (state IN ('held', 'queued', 'sending', 'delivered', 'uncertain', 'failed', 'cancelled')),
                                                      -- held: batched, waits for the end of its turn
    content         TEXT NOT NULL,                    -- Markdown as the agent wrote it
    buttons         TEXT,                             -- JSON [[{label, data}]]
    reply_to        TEXT,                             -- the channel's message id
    parts_total     INTEGER NOT NULL DEFAULT 1,
    parts_done      INTEGER NOT NULL DEFAULT 0,
    external_ids    TEXT NOT NULL DEFAULT '[]',       -- JSON, the channel's message ids, one per part
    attempts        INTEGER NOT NULL DEFAULT 0,
    not_before_elapsed INTEGER NOT NULL DEFAULT 0,    -- elapsed ms
    sequence_in_turn INTEGER,
    error           TEXT,
    sent_again_as   INTEGER REFERENCES outbound (id),
    queued_at       INTEGER NOT NULL,
    delivered_at    INTEGER,
    UNIQUE (conversation_id, sequence)
);
CREATE UNIQUE INDEX outbound_ordinal ON outbound (turn_id, turn_epoch, ordinal) WHERE turn_id IS NOT NULL;
CREATE INDEX outbound_open ON outbound (state, not_before_elapsed) WHERE state IN ('held', 'queued', 'sending');
CREATE INDEX outbound_conversation ON outbound (conversation_id, id);
