-- Decisions of gates on runs over datasets. The report is kept as it was: scores, baselines and
-- items change later.
CREATE TABLE gate (
    project     TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    dataset     TEXT   NOT NULL,
    run         TEXT   NOT NULL,
    verdict     TEXT   NOT NULL,
    accuracy    DOUBLE PRECISION NOT NULL,
    report      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    promoted_at BIGINT,
    PRIMARY KEY (project, id)
);

CREATE INDEX gate_by_dataset ON gate (project, dataset, created_at);
CREATE INDEX gate_by_run ON gate (project, run);
