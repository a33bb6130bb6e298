-- Prompts. A row is one version; it never changes but for the time at which its labels or tags did.
CREATE TABLE prompt (
    project        TEXT   NOT NULL REFERENCES project (id),
    name           TEXT   NOT NULL,
    version        BIGINT NOT NULL,
    id             TEXT   NOT NULL UNIQUE,
    kind           TEXT   NOT NULL,
    body           TEXT   NOT NULL,
    config         TEXT   NOT NULL,
    commit_message TEXT,
    created_by     TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (project, name, version)
);

-- A label stands at one version of a name.
CREATE TABLE prompt_label (
    project TEXT   NOT NULL,
    name    TEXT   NOT NULL,
    label   TEXT   NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (project, name, label),
    FOREIGN KEY (project, name, version) REFERENCES prompt (project, name, version)
);

-- Tags belong to the name, not to a version.
CREATE TABLE prompt_tag (
    project TEXT NOT NULL,
    name    TEXT NOT NULL,
    tag     TEXT NOT NULL,
    PRIMARY KEY (project, name, tag)
);

-- Which version refers to which other prompt: by version or by label, the other is null.
CREATE TABLE prompt_reference (
    project       TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    child_name    TEXT   NOT NULL,
    child_version BIGINT,
    child_label   TEXT,
    FOREIGN KEY (project, name, version) REFERENCES prompt (project, name, version)
);

CREATE INDEX prompt_reference_parent ON prompt_reference (project, name, version);

CREATE INDEX prompt_reference_child ON prompt_reference (project, child_name);
