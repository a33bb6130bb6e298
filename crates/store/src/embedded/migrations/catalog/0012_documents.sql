-- Definitions that are kept whole: dashboards, widgets, evaluators and the rules that apply them.
CREATE TABLE document (
    project    TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project, kind, id)
);
