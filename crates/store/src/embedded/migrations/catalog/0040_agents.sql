-- What is scored, reviewed, gated and promoted. Lists are JSON lists of texts.
CREATE TABLE agent (
    project           TEXT             NOT NULL,
    name              TEXT             NOT NULL,
    owner             TEXT,
    on_call           TEXT             NOT NULL,
    environments      TEXT             NOT NULL,
    queue             TEXT,
    datasets          TEXT             NOT NULL,
    agent_accuracy    DOUBLE PRECISION NOT NULL,
    judge_accuracy    DOUBLE PRECISION NOT NULL,
    user_satisfaction DOUBLE PRECISION NOT NULL,
    traces_reviewed   BIGINT           NOT NULL,
    review_capacity   BIGINT           NOT NULL,
    aliases           TEXT             NOT NULL,
    created_at        BIGINT           NOT NULL,
    updated_at        BIGINT           NOT NULL,
    PRIMARY KEY (project, name)
);
