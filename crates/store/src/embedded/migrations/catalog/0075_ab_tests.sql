-- A/B tests of prompts: one JSON document each, with the columns that are searched.
CREATE TABLE ab_test (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    prompt     TEXT   NOT NULL,
    is_running BIGINT NOT NULL,
    document   TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
-- A prompt has one running test: two would share users.
CREATE UNIQUE INDEX ab_test_running ON ab_test (project, prompt) WHERE is_running = 1;
CREATE INDEX ab_test_by_time ON ab_test (project, created_at);
