-- Lists as people like to see them: the query of a page's address, under a name.
CREATE TABLE saved_view (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    page       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    query      TEXT   NOT NULL,
    author     TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, id),
    UNIQUE (project, page, name)
);
