-- Facts a person told or confirmed, and contacts (name to address).
CREATE TABLE facts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL CHECK (kind IN ('fact', 'contact')),
    text        TEXT NOT NULL,
    name        TEXT,                                 -- of a contact
    address     TEXT,                                 -- of a contact
    said_by     TEXT NOT NULL,
    inbound_id  INTEGER REFERENCES inbound (id),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    erased_at   INTEGER
);
CREATE VIRTUAL TABLE facts_fts USING fts5(text, name, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");

-- Addresses that an owner wrote, configured or confirmed.
CREATE TABLE known_targets (
    kind     TEXT NOT NULL,                           -- mail | calendar | url
    target   TEXT NOT NULL,                           -- normalised
    source   TEXT NOT NULL,                           -- owner | configuration | approval
    at       INTEGER NOT NULL,
    PRIMARY KEY (kind, target)
);
