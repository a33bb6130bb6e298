-- The last known state of what people are alerted about. A change of state and its notification are
-- written in one transaction. The agent of traces without one is ''.
CREATE TABLE review_alert (
    project    TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    week       TEXT   NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (project, agent, subject)
);
