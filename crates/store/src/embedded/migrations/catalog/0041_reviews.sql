-- How the items of a queue are reviewed. Queues without a row have the defaults.
CREATE TABLE review_settings (
    project      TEXT   NOT NULL,
    queue        TEXT   NOT NULL,
    instructions TEXT   NOT NULL,
    reviews      BIGINT NOT NULL,
    is_blind     BIGINT NOT NULL,
    PRIMARY KEY (project, queue)
);

-- What a person answered about an item. The id comes from the browser: an answer that is sent twice
-- counts once. Scores and dataset items are JSON lists of ids, so that an answer can be undone.
CREATE TABLE annotation_review (
    project       TEXT   NOT NULL,
    queue         TEXT   NOT NULL,
    item          TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    reviewer      TEXT   NOT NULL,
    outcome       TEXT   NOT NULL,
    is_correct    BIGINT,
    judge_error   TEXT,
    is_late       BIGINT NOT NULL,
    seconds       BIGINT,
    scores        TEXT   NOT NULL,
    dataset_items TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (project, queue, id)
);
CREATE INDEX annotation_review_item ON annotation_review (project, queue, item);
CREATE INDEX annotation_review_reviewer ON annotation_review (project, queue, reviewer, created_at);
