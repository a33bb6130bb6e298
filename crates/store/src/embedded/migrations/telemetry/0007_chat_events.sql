-- What chat agents said, in order. The number of an event is that of its chat times 2^32, plus its
-- place in it: one key, and the events of a chat lie together.
CREATE TABLE chat (
    no      INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    id      BLOB    NOT NULL,
    last_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX chat_by_id ON chat (project, id);
CREATE INDEX chat_by_time ON chat (project, last_at);

-- The body is a text, or the bytes of a text that was compressed.
CREATE TABLE chat_event (
    no   INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    kind TEXT    NOT NULL,
    body         NOT NULL
);
