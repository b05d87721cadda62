-- One merged input: the messages of one sender that became one request.
CREATE TABLE bursts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    sender_id       TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('queued', 'running', 'answered', 'discarded')),
    reason          TEXT,                             -- why discarded
    signal          TEXT NOT NULL,                    -- of its last message: structural | length | opener | hanging | closed | neutral | none
    window_ms       INTEGER NOT NULL,                 -- the window that signal chose
    flush_reason    TEXT NOT NULL,                    -- quiet | max_wait | max_messages | control | restart
    message_count   INTEGER NOT NULL,
    waited_ms       INTEGER NOT NULL,                 -- first message accepted to flush, elapsed ms
    stale           INTEGER NOT NULL DEFAULT 0,
    turn_id         TEXT REFERENCES turns (id),       -- the surviving turn
    created_at      INTEGER NOT NULL
);
CREATE INDEX bursts_queued ON bursts (conversation_id, id) WHERE state = 'queued';
CREATE INDEX bursts_conversation ON bursts (conversation_id, id);
CREATE INDEX bursts_turn ON bursts (turn_id);
