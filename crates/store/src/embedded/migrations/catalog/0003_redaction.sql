-- What must not be kept, by project. A rule is a pattern, a path or the name of a preset.
CREATE TABLE redaction_rule (
    id          TEXT   PRIMARY KEY,
    project     TEXT   NOT NULL REFERENCES project (id),
    kind        TEXT   NOT NULL,
    what        TEXT   NOT NULL,
    replacement TEXT   NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX redaction_rule_by_project ON redaction_rule (project, created_at);

-- Whose pages may call with a project's keys; anyone's where there is no row.
CREATE TABLE page_origin (
    project TEXT NOT NULL REFERENCES project (id),
    origin  TEXT NOT NULL,
    PRIMARY KEY (project, origin)
);

-- What users say about the product itself.
CREATE TABLE product_feedback (
    id            TEXT   PRIMARY KEY,
    project       TEXT   NOT NULL REFERENCES project (id),
    target_type   TEXT   NOT NULL,
    target        TEXT   NOT NULL,
    feedback      TEXT   NOT NULL,
    goal          TEXT,
    reference_url TEXT,
    created_at    BIGINT NOT NULL
);
