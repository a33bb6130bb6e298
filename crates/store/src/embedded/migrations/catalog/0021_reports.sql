-- What weeks of scored sessions say, and what could be changed so that the next is better.
CREATE TABLE report (
    project    TEXT   NOT NULL,
    week       TEXT   NOT NULL,
    document   TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project, week)
);
CREATE TABLE suggestion (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    advice     TEXT   NOT NULL,
    severity   TEXT   NOT NULL,
    dimension  TEXT   NOT NULL,
    title      TEXT   NOT NULL,
    edit       TEXT   NOT NULL,
    text       TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    sessions   TEXT   NOT NULL,
    first_week TEXT   NOT NULL,
    last_week  TEXT   NOT NULL,
    progress   TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX suggestion_by_advice ON suggestion (project, advice);
CREATE TABLE suggestion_step (
    project    TEXT   NOT NULL,
    suggestion TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    progress   TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (project, suggestion, number)
);
