-- What owners note about a project, and who works in it.
CREATE TABLE project_note (
    project    TEXT   PRIMARY KEY REFERENCES project (id),
    metadata   TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE membership (
    project TEXT NOT NULL REFERENCES project (id),
    person  TEXT NOT NULL REFERENCES person (id),
    role    TEXT NOT NULL,
    PRIMARY KEY (project, person)
);
