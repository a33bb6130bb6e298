-- Samples drawn for weekly review. What was true at draw time is stored and never computed again:
-- signals change later, and with them populations and categories.
CREATE TABLE review_draw (
    project  TEXT   NOT NULL,
    queue    TEXT   NOT NULL,
    week     TEXT   NOT NULL,
    agent    TEXT,
    seed     TEXT   NOT NULL,
    plan     TEXT   NOT NULL,
    cells    TEXT   NOT NULL,
    is_cut   BIGINT NOT NULL,
    drawn_at BIGINT NOT NULL,
    PRIMARY KEY (project, queue, week),
    FOREIGN KEY (project, queue) REFERENCES annotation_queue (project, id)
);

CREATE TABLE review_item (
    project     TEXT   NOT NULL,
    queue       TEXT   NOT NULL,
    week        TEXT   NOT NULL,
    trace       TEXT   NOT NULL,
    item        TEXT   NOT NULL,
    selection   TEXT   NOT NULL,
    category    TEXT   NOT NULL,
    population  BIGINT NOT NULL,
    taken       BIGINT NOT NULL,
    probability DOUBLE PRECISION,
    quality     DOUBLE PRECISION,
    environment TEXT   NOT NULL,
    release     TEXT,
    reason      TEXT   NOT NULL,
    PRIMARY KEY (project, queue, week, trace),
    FOREIGN KEY (project, queue, week) REFERENCES review_draw (project, queue, week)
);

CREATE INDEX review_item_by_trace ON review_item (project, trace);
