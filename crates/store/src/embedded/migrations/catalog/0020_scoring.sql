-- Runs that scored sessions, and how they ended. Money is in pico-dollars.
CREATE TABLE scoring_run (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    rubric     TEXT   NOT NULL,
    judge      TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT,
    outcome    TEXT   NOT NULL,
    scored     BIGINT NOT NULL,
    skipped    BIGINT NOT NULL,
    failed     BIGINT NOT NULL,
    calls      BIGINT NOT NULL,
    repeated   BIGINT NOT NULL,
    cost       BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX scoring_run_by_time ON scoring_run (project, started_at);

-- Which run is at which session, so that no other one is.
CREATE TABLE scoring_claim (
    project    TEXT   NOT NULL,
    session    TEXT   NOT NULL,
    rubric     TEXT   NOT NULL,
    run        TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (project, session, rubric)
);

-- Calls that were begun. One that is still here when its run is gone may have been paid for.
CREATE TABLE scoring_call (
    project    TEXT   NOT NULL,
    prompt     TEXT   NOT NULL,
    run        TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (project, prompt)
);

-- What judges said of the chunks of sessions that are not scored yet.
CREATE TABLE scoring_verdict (
    project    TEXT   NOT NULL,
    prompt     TEXT   NOT NULL,
    session    TEXT   NOT NULL,
    rubric     TEXT   NOT NULL,
    judge      TEXT   NOT NULL,
    answer     TEXT   NOT NULL,
    cost       BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, prompt)
);
CREATE INDEX scoring_verdict_by_session ON scoring_verdict (project, session, rubric);

-- Requests that were handed in together, to be answered later. The provider's name for the whole
-- is known only once it has answered; the custom ids are known before.
CREATE TABLE scoring_batch (
    project      TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    judge        TEXT   NOT NULL,
    remote       TEXT,
    submitted_at BIGINT NOT NULL,
    is_collected BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE TABLE scoring_batch_item (
    project TEXT NOT NULL,
    batch   TEXT NOT NULL,
    prompt  TEXT NOT NULL,
    PRIMARY KEY (project, batch, prompt)
);
