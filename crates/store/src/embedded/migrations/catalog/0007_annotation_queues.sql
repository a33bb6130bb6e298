-- Queues of what people are to look at, and who looks after them.
CREATE TABLE annotation_queue (
    project       TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    description   TEXT,
    score_configs TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (project, id),
    UNIQUE (project, name)
);

CREATE TABLE annotation_item (
    project      TEXT   NOT NULL,
    queue        TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    object_kind  TEXT   NOT NULL,
    object       TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    completed_at BIGINT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (project, queue, id),
    FOREIGN KEY (project, queue) REFERENCES annotation_queue (project, id)
);

-- Nobody is asked twice at one time to look at the same thing.
CREATE UNIQUE INDEX annotation_item_pending
    ON annotation_item (project, queue, object_kind, object) WHERE status = 'PENDING';

CREATE INDEX annotation_item_age ON annotation_item (project, queue, created_at);

CREATE TABLE annotation_assignment (
    project TEXT NOT NULL,
    queue   TEXT NOT NULL,
    person  TEXT NOT NULL REFERENCES person (id),
    PRIMARY KEY (project, queue, person),
    FOREIGN KEY (project, queue) REFERENCES annotation_queue (project, id)
);
