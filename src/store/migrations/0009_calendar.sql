-- The local calendar. The id is chosen by us from the effect key, so a second insert is impossible.
CREATE TABLE calendar_events (
    id          TEXT PRIMARY KEY,                     -- iCalendar UID
    calendar    TEXT NOT NULL DEFAULT 'local',
    title       TEXT NOT NULL,
    ics         TEXT NOT NULL,                        -- the whole VCALENDAR, unknown properties kept
    starts_at   INTEGER NOT NULL,                     -- UTC ms of the first occurrence
    ends_at     INTEGER NOT NULL,                     -- UTC ms
    until_at    INTEGER NOT NULL,                     -- UTC ms after which no occurrence comes; max i64 when open
    all_day     INTEGER NOT NULL DEFAULT 0,
    recurring   INTEGER NOT NULL DEFAULT 0,
    version     INTEGER NOT NULL DEFAULT 1,           -- the ETag
    effect_id   TEXT REFERENCES effects (id),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
);
CREATE INDEX calendar_events_range ON calendar_events (starts_at, until_at);
