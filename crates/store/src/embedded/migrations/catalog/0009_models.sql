-- Models as projects define them: what they are called and what they cost.
CREATE TABLE model (
    project          TEXT   NOT NULL,
    id               TEXT   NOT NULL,
    name             TEXT   NOT NULL,
    pattern          TEXT   NOT NULL,
    start_at         BIGINT,
    unit             TEXT   NOT NULL,
    tiers            TEXT   NOT NULL,
    tokenizer        TEXT,
    tokenizer_config TEXT,
    created_at       BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
