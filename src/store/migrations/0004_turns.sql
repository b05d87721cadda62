-- One run of the agent loop. A rollback raises `epoch`; steps of earlier epochs are kept and ignored.
CREATE TABLE turns (
    id              TEXT PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    number          INTEGER NOT NULL,                 -- order within the conversation, from 1
    sender_id       TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('thinking', 'acting', 'replying', 'ended')),
    ending          TEXT CHECK (ending IN ('answered', 'stopped', 'interrupted', 'failed', 'limited')),
    reason          TEXT,                             -- plain words for failed, limited and stopped
    epoch           INTEGER NOT NULL DEFAULT 1,
    supersessions   INTEGER NOT NULL DEFAULT 0,
    fenced          INTEGER NOT NULL DEFAULT 0,       -- 1 from the first effect row or outbound row in sending
    stop_requested  INTEGER NOT NULL DEFAULT 0,
    stale           INTEGER NOT NULL DEFAULT 0,
    model           TEXT NOT NULL DEFAULT '',
    model_calls     INTEGER NOT NULL DEFAULT 0,
    tool_calls      INTEGER NOT NULL DEFAULT 0,
    input_tokens    INTEGER NOT NULL DEFAULT 0,
    output_tokens   INTEGER NOT NULL DEFAULT 0,
    cost_micros     INTEGER NOT NULL DEFAULT 0,       -- millionths of the prices' currency
    started_at      INTEGER NOT NULL,
    started_elapsed INTEGER NOT NULL,
    ended_at        INTEGER,
    UNIQUE (conversation_id, number)
);
-- At most one running turn per conversation.
CREATE UNIQUE INDEX turns_running ON turns (conversation_id) WHERE state <> 'ended';

-- Each model reply and each tool result is a recorded step; a crash resumes from the last one.
CREATE TABLE turn_steps (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id    TEXT NOT NULL REFERENCES turns (id),
    epoch      INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,                      -- from 0 within (turn, epoch)
    kind       TEXT NOT NULL CHECK (kind IN ('input', 'model_reply', 'tool_result', 'summary', 'correction', 'final')),
    call_id    TEXT,                                  -- of a tool_result
    content    TEXT NOT NULL,                         -- JSON, see turns::steps
    millis     INTEGER NOT NULL DEFAULT 0,            -- how long it took
    created_at INTEGER NOT NULL,
    UNIQUE (turn_id, epoch, ordinal)
);
