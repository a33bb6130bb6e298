-- Runs of experiments that Ratchet drives. Their trials are jobs of the one queue; calls and costs
-- are summed here, in the transaction that changes the job. Costs are millionths of a millionth of a
-- dollar. The id is the one that SDKs compute from project, dataset and name.
CREATE TABLE experiment_run (
    project     TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    dataset     TEXT   NOT NULL,
    plan        TEXT   NOT NULL,
    state       TEXT   NOT NULL,
    trials      BIGINT NOT NULL,
    done        BIGINT NOT NULL DEFAULT 0,
    faults      BIGINT NOT NULL DEFAULT 0,
    cached      BIGINT NOT NULL DEFAULT 0,
    calls       BIGINT NOT NULL DEFAULT 0,
    unpriced    BIGINT NOT NULL DEFAULT 0,
    cost        BIGINT NOT NULL DEFAULT 0,
    max_cost    BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (project, id)
);
CREATE INDEX experiment_run_by_dataset ON experiment_run (project, dataset, created_at);

-- Answers of targets by a hash of target version, input and repeat.
CREATE TABLE experiment_answer (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    answer     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
