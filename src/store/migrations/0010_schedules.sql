-- What comes back later: reminders and scheduled requests.
CREATE TABLE schedules (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    kind            TEXT NOT NULL CHECK (kind IN ('reminder', 'request')),
    text            TEXT NOT NULL,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    starts_at       INTEGER NOT NULL,                 -- wall ms of the first slot
    zone            TEXT NOT NULL,
    rrule           TEXT,                             -- NULL: once
    missed          TEXT NOT NULL DEFAULT 'run' CHECK (missed IN ('run', 'tell')),
    state           TEXT NOT NULL CHECK (state IN ('active', 'done', 'cancelled')),
    next_slot       INTEGER,                          -- wall ms
    last_slot       INTEGER,                          -- wall ms
    turn_id         TEXT,
    created_at      INTEGER NOT NULL
);
CREATE INDEX schedules_due ON schedules (next_slot) WHERE state = 'active';
