-- What receivers got once: weekly documents, tasks of proposals, new patterns of failures.
CREATE TABLE announcement (
    project      TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    announced_at BIGINT NOT NULL,
    PRIMARY KEY (project, subject)
);
