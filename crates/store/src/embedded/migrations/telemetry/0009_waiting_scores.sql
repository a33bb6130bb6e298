-- Scores of callers with a public key alone whose trace or session is not there yet. Nothing else
-- reads them; they move to `score` when it comes, and go when it does not.
CREATE TABLE waiting_score (
    no          INTEGER PRIMARY KEY,
    project     INTEGER NOT NULL,
    id          BLOB    NOT NULL,
    trace       BLOB,
    observation BLOB,
    session     BLOB,
    dataset_run TEXT,
    name        TEXT    NOT NULL,
    data_type   TEXT    NOT NULL,
    number      REAL,
    text        TEXT,
    source      TEXT    NOT NULL,
    timestamp   INTEGER NOT NULL,
    environment TEXT,
    comment     TEXT,
    author      TEXT,
    config      TEXT,
    queue       TEXT,
    metadata    BLOB,
    stamps      BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX waiting_score_by_id ON waiting_score (project, id);
CREATE INDEX waiting_score_by_trace ON waiting_score (project, trace) WHERE trace IS NOT NULL;
CREATE INDEX waiting_score_by_session ON waiting_score (project, session) WHERE session IS NOT NULL;
CREATE INDEX waiting_score_by_age ON waiting_score (created_at);
