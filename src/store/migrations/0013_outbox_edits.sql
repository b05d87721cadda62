-- The text that a delivered message shall show now. One row per message: a later edit replaces an earlier one.
CREATE TABLE outbound_edits (
    outbound_id        INTEGER PRIMARY KEY REFERENCES outbound (id),
    content            TEXT NOT NULL,                 -- Markdown of the first part
    buttons            TEXT,                          -- JSON as in outbound; NULL: none
    version            INTEGER NOT NULL DEFAULT 1,    -- raised by each new text
    state              TEXT NOT NULL CHECK (state IN ('queued', 'done', 'failed')),
    attempts           INTEGER NOT NULL DEFAULT 0,
    not_before_elapsed INTEGER NOT NULL DEFAULT 0,    -- elapsed ms
    error              TEXT,
    queued_at          INTEGER NOT NULL
);
CREATE INDEX outbound_edits_open ON outbound_edits (not_before_elapsed) WHERE state = 'queued';
