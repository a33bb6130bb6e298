-- Conversations with agents that run here. What they say is telemetry; this is how to go on with
-- them, and which process to end if the server died before it could.
CREATE TABLE chat (
    project         TEXT   NOT NULL,
    id              TEXT   NOT NULL,
    family          TEXT   NOT NULL,
    parent          TEXT,
    fork_at         TEXT,
    title           TEXT,
    workspace       TEXT   NOT NULL,
    setting         TEXT   NOT NULL,
    state           TEXT   NOT NULL,
    why             TEXT,
    turn            TEXT,
    pid             BIGINT,
    process_started TEXT,
    turns           BIGINT NOT NULL,
    cost            BIGINT NOT NULL,
    agent_cost      BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX chat_by_time ON chat (project, updated_at);
