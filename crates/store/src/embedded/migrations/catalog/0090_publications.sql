-- Traces and sessions that anybody with a link may read, and sessions with a bookmark. Bookmarks of
-- traces are a field of the trace.
CREATE TABLE publication (
    project    TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    object     TEXT   NOT NULL,
    token      TEXT   NOT NULL UNIQUE,
    author     TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, kind, object)
);

CREATE TABLE session_bookmark (
    project    TEXT   NOT NULL,
    session    TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, session)
);
