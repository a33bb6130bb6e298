-- Skills. A row is one version; it never changes but for the time at which its labels or tags did.
CREATE TABLE skill (
    project        TEXT   NOT NULL REFERENCES project (id),
    name           TEXT   NOT NULL,
    version        BIGINT NOT NULL,
    id             TEXT   NOT NULL UNIQUE,
    description    TEXT   NOT NULL,
    frontmatter    TEXT   NOT NULL,
    -- Name and description in small letters, to be searched.
    searched       TEXT   NOT NULL,
    commit_message TEXT,
    created_by     TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (project, name, version)
);

-- What files hold, once for each content.
CREATE TABLE skill_content (
    project        TEXT   NOT NULL,
    sha256         TEXT   NOT NULL,
    content_length BIGINT NOT NULL,
    content        TEXT   NOT NULL,
    PRIMARY KEY (project, sha256)
);

-- The files of a version, which is named by its id.
CREATE TABLE skill_file (
    project TEXT NOT NULL,
    skill   TEXT NOT NULL REFERENCES skill (id),
    path    TEXT NOT NULL,
    id      TEXT NOT NULL,
    sha256  TEXT NOT NULL,
    PRIMARY KEY (project, skill, path),
    FOREIGN KEY (project, sha256) REFERENCES skill_content (project, sha256)
);

CREATE INDEX skill_file_by_content ON skill_file (project, sha256);

-- A label stands at one version of a name.
CREATE TABLE skill_label (
    project TEXT   NOT NULL,
    name    TEXT   NOT NULL,
    label   TEXT   NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (project, name, label),
    FOREIGN KEY (project, name, version) REFERENCES skill (project, name, version)
);

-- Tags belong to the name, not to a version.
CREATE TABLE skill_tag (
    project TEXT NOT NULL,
    name    TEXT NOT NULL,
    tag     TEXT NOT NULL,
    PRIMARY KEY (project, name, tag)
);
