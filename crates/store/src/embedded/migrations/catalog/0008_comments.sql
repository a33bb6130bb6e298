-- What people and programs say about traces, steps, sessions and prompts.
CREATE TABLE comment (
    project     TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    object_kind TEXT   NOT NULL,
    object      TEXT   NOT NULL,
    content     TEXT   NOT NULL,
    author      TEXT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);

CREATE INDEX comment_object ON comment (project, object_kind, object, created_at);
