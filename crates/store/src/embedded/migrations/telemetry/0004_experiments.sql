-- Experiments, as spans tell of them and as older clients do. Spans that belong to none cost
-- nothing here.
CREATE TABLE experiment (
    no          INTEGER PRIMARY KEY,
    project     INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT,
    metadata    TEXT,
    dataset     TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX experiment_by_id ON experiment (project, id);
CREATE INDEX experiment_by_dataset ON experiment (project, dataset, created_at)
    WHERE dataset IS NOT NULL;

-- One try of one item. The times of running are known once the span has come.
CREATE TABLE experiment_item (
    no              INTEGER PRIMARY KEY,
    project         INTEGER NOT NULL,
    experiment      INTEGER NOT NULL,
    id              TEXT    NOT NULL,
    item            TEXT    NOT NULL,
    version         INTEGER,
    expected_output TEXT,
    metadata        TEXT,
    trace           BLOB    NOT NULL,
    observation     BLOB,
    start           INTEGER,
    end             INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
);
CREATE INDEX experiment_item_by_experiment ON experiment_item (experiment, created_at);
CREATE INDEX experiment_item_by_time ON experiment_item (project, coalesce(start, created_at));
CREATE INDEX experiment_item_by_trace ON experiment_item (project, trace);
CREATE INDEX experiment_item_by_item ON experiment_item (project, item);
