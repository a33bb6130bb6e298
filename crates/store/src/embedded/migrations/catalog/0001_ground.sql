-- The catalog, in the SQL that SQLite and PostgreSQL share. Times are nanoseconds since 1970 UTC.
CREATE TABLE project (
    id             TEXT   PRIMARY KEY,
    name           TEXT   NOT NULL UNIQUE,
    retention_days BIGINT,
    created_at     BIGINT NOT NULL
);

CREATE TABLE api_key (
    id          TEXT   PRIMARY KEY,
    project     TEXT   NOT NULL REFERENCES project (id),
    public_key  TEXT   NOT NULL UNIQUE,
    salt        TEXT   NOT NULL,
    secret_hash TEXT   NOT NULL,
    secret_hint TEXT   NOT NULL,
    role        TEXT   NOT NULL,
    note        TEXT,
    created_at  BIGINT NOT NULL
);

CREATE TABLE person (
    id            TEXT   PRIMARY KEY,
    email         TEXT   NOT NULL UNIQUE,
    password_hash TEXT   NOT NULL,
    role          TEXT   NOT NULL,
    created_at    BIGINT NOT NULL
);
