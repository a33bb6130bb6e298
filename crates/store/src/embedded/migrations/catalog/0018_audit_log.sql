-- Who changed what, and when. An empty project is the whole server.
CREATE TABLE audit_entry (
    number     BIGINT NOT NULL PRIMARY KEY,
    project    TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    actor_kind TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    actor_name TEXT   NOT NULL,
    verb       TEXT   NOT NULL,
    noun       TEXT   NOT NULL,
    object     TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    was        TEXT,
    became     TEXT
);
CREATE INDEX audit_entry_by_project ON audit_entry (project, number);
CREATE INDEX audit_entry_by_object ON audit_entry (project, noun, object, number);
