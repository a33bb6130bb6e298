-- Images, sounds and files. The bytes are files named by their hash; this says whose they are.
CREATE TABLE media (
    project        TEXT   NOT NULL,
    id             TEXT   NOT NULL,
    sha256         TEXT   NOT NULL,
    content_type   TEXT   NOT NULL,
    content_length BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    stored_at      BIGINT,
    uploaded_at    BIGINT,
    upload_status  BIGINT,
    upload_error   TEXT,
    upload_millis  BIGINT,
    PRIMARY KEY (project, id)
);

-- Where a piece of media is used: a trace or a dataset, and the step or item in it, if it is there.
CREATE TABLE media_use (
    project TEXT NOT NULL,
    media   TEXT NOT NULL,
    owner   TEXT NOT NULL,
    whole   TEXT NOT NULL,
    part    TEXT NOT NULL,
    field   TEXT NOT NULL,
    PRIMARY KEY (project, owner, whole, part, field, media)
);
