-- Datasets and their items. Runs over them are telemetry.
CREATE TABLE dataset (
    project                TEXT   NOT NULL REFERENCES project (id),
    id                     TEXT   NOT NULL,
    name                   TEXT   NOT NULL,
    description            TEXT,
    metadata               TEXT,
    input_schema           TEXT,
    expected_output_schema TEXT,
    created_at             BIGINT NOT NULL,
    updated_at             BIGINT NOT NULL,
    PRIMARY KEY (project, id),
    UNIQUE (project, name)
);

-- A row is an item as it was for some time: from valid_from until before valid_to, or still.
CREATE TABLE dataset_item (
    project            TEXT   NOT NULL,
    id                 TEXT   NOT NULL,
    valid_from         BIGINT NOT NULL,
    valid_to           BIGINT,
    dataset            TEXT   NOT NULL,
    status             TEXT   NOT NULL,
    input              TEXT,
    expected_output    TEXT,
    metadata           TEXT,
    source_trace       TEXT,
    source_observation TEXT,
    created_at         BIGINT NOT NULL,
    PRIMARY KEY (project, id, valid_from),
    FOREIGN KEY (project, dataset) REFERENCES dataset (project, id)
);

CREATE INDEX dataset_item_by_dataset ON dataset_item (project, dataset, created_at);

CREATE INDEX dataset_item_by_source ON dataset_item (project, source_trace);
