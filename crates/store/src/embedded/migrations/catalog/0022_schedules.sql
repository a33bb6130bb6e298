-- What runs by itself, and how it went. A row of a run is also the claim on it: whoever has it
-- works until it ends or the claim runs out.
CREATE TABLE schedule (
    project    TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    cron       TEXT   NOT NULL,
    zone       TEXT   NOT NULL,
    judge      TEXT   NOT NULL,
    learnings  TEXT,
    slack      TEXT,
    webhook    TEXT,
    is_on      BIGINT NOT NULL,
    due_after  BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, name)
);
CREATE TABLE schedule_run (
    project       TEXT   NOT NULL,
    schedule      TEXT   NOT NULL,
    due_at        BIGINT NOT NULL,
    runner        TEXT   NOT NULL,
    began_at      BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    ended_at      BIGINT,
    outcome       TEXT   NOT NULL,
    message       TEXT   NOT NULL,
    PRIMARY KEY (project, schedule, due_at)
);
