-- Telemetry. Everything of a trace lies together: its row number leads the keys of its
-- observations and payload blocks, so reading a trace reads neighbours, and recording touches
-- only the newest pages. Ids are BLOB for OpenTelemetry's and TEXT for all others.

-- Small numbers for projects, so that keys stay short.
CREATE TABLE project (
    no           INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    traces       INTEGER NOT NULL DEFAULT 0,
    observations INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE trace (
    no            INTEGER PRIMARY KEY,
    project       INTEGER NOT NULL,
    id            BLOB    NOT NULL,
    timestamp     INTEGER NOT NULL,
    name          TEXT,
    user          TEXT,
    session       BLOB,
    release       TEXT,
    version       TEXT,
    environment   TEXT,
    agent         TEXT,
    tags          TEXT,
    public        INTEGER,
    bookmarked    INTEGER,
    root          BLOB,
    debugs        INTEGER NOT NULL,
    defaults      INTEGER NOT NULL,
    warnings      INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    start         INTEGER,
    end           INTEGER,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    total_tokens  INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    costs_known   INTEGER NOT NULL,
    stamps        BLOB    NOT NULL,
    payload       INTEGER,
    blocks        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
);
CREATE UNIQUE INDEX trace_by_id ON trace (project, id);
CREATE INDEX trace_by_time ON trace (project, timestamp);
CREATE INDEX trace_by_session ON trace (project, session, timestamp) WHERE session IS NOT NULL;
CREATE INDEX trace_by_user ON trace (project, user, timestamp) WHERE user IS NOT NULL;

CREATE TABLE observation (
    trace            INTEGER NOT NULL,
    id               BLOB    NOT NULL,
    project          INTEGER NOT NULL,
    start            INTEGER NOT NULL,
    end              INTEGER,
    kind             INTEGER NOT NULL,
    level            INTEGER NOT NULL,
    name             TEXT,
    parent           BLOB,
    completion_start INTEGER,
    status_message   TEXT,
    version          TEXT,
    environment      TEXT,
    agent            TEXT,
    model            TEXT,
    model_parameters TEXT,
    usage            BLOB,
    costs            BLOB,
    input_tokens     INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    total_tokens     INTEGER NOT NULL,
    cost             INTEGER,
    prompt_name      TEXT,
    prompt_version   INTEGER,
    stamps           BLOB    NOT NULL,
    payload          INTEGER,
    entry            INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER,
    PRIMARY KEY (trace, id)
) WITHOUT ROWID;
CREATE INDEX observation_by_start ON observation (project, start);
-- Finds an observation by its id alone. Ids are random, so one index over all of them would touch
-- a random page for each row recorded; cut into segments, only the newest segment is touched, and
-- a look-up tries the segments from the newest.
CREATE INDEX observation_by_id ON observation (trace >> 14, id);

-- Observations that came without a trace id and wait in a trace of their own.
CREATE TABLE stray (
    project INTEGER NOT NULL,
    id      BLOB    NOT NULL,
    PRIMARY KEY (project, id)
) WITHOUT ROWID;

-- Inputs, outputs and metadata, compressed together by trace and commit.
CREATE TABLE payload (
    no    INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
);

CREATE TABLE session (
    project      INTEGER NOT NULL,
    id           BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    environment  TEXT,
    traces       INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    costs_known  INTEGER NOT NULL,
    PRIMARY KEY (project, id)
) WITHOUT ROWID;
CREATE INDEX session_by_time ON session (project, created_at);

CREATE TABLE score (
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
CREATE UNIQUE INDEX score_by_id ON score (project, id);
CREATE INDEX score_by_time ON score (project, timestamp);
CREATE INDEX score_by_trace ON score (project, trace) WHERE trace IS NOT NULL;
CREATE INDEX score_by_session ON score (project, session) WHERE session IS NOT NULL;

-- The words that rollups count by. Bounded by project and dimension; what comes later is "other".
CREATE TABLE term (
    no        INTEGER PRIMARY KEY,
    project   INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    word      TEXT    NOT NULL,
    UNIQUE (project, dimension, word)
);

-- Sums over observations by hour. Every column can be subtracted again.
CREATE TABLE rollup (
    project       INTEGER NOT NULL,
    hour          INTEGER NOT NULL,
    environment   INTEGER NOT NULL,
    kind          INTEGER NOT NULL,
    name          INTEGER NOT NULL,
    model         INTEGER NOT NULL,
    count         INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    total_tokens  INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    cost_unknown  INTEGER NOT NULL,
    latency       BLOB    NOT NULL,
    PRIMARY KEY (project, hour, environment, kind, name, model)
) WITHOUT ROWID;
