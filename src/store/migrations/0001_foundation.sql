-- Facts about this installation: elapsed clock, anchors, flags.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- One row per (channel, account, contact, thread). Turns in one conversation are strictly sequential.
CREATE TABLE conversations (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    channel       TEXT NOT NULL CHECK (channel IN ('telegram', 'window', 'http')),
    account       TEXT NOT NULL,                      -- bot id; 'local' for window and http
    contact       TEXT NOT NULL,                      -- chat id, session id
    thread        TEXT NOT NULL DEFAULT '',           -- topic id
    kind          TEXT NOT NULL DEFAULT 'private' CHECK (kind IN ('private', 'group')),
    title         TEXT NOT NULL DEFAULT '',
    last_text     TEXT NOT NULL DEFAULT '',
    last_at       INTEGER NOT NULL DEFAULT 0,         -- wall ms
    next_sequence INTEGER NOT NULL DEFAULT 1,         -- of the next outbound row
    unreachable   TEXT,                               -- why nothing can be delivered here (blocked by the user, ...)
    reset_at      INTEGER NOT NULL DEFAULT 0,         -- wall ms of the last /reset: older history is not shown to the model
    erased_at     INTEGER,
    created_at    INTEGER NOT NULL,
    UNIQUE (channel, account, contact, thread)
);
CREATE INDEX conversations_recent ON conversations (last_at DESC);

-- Files that came in or go out, by content. The bytes are at DATA/files/<sha256>.
CREATE TABLE attachments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256     TEXT NOT NULL,
    name       TEXT NOT NULL,
    mime       TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
