-- What scores must look like. Categories are a JSON list of labels and values.
CREATE TABLE score_config (
    id          TEXT   PRIMARY KEY,
    project     TEXT   NOT NULL REFERENCES project (id),
    name        TEXT   NOT NULL,
    data_type   TEXT   NOT NULL,
    min_value   DOUBLE PRECISION,
    max_value   DOUBLE PRECISION,
    categories  TEXT,
    description TEXT,
    is_archived BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX score_config_by_project ON score_config (project, created_at);
