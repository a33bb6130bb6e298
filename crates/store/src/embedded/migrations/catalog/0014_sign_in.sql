-- How people sign in and how long they stay. Only hashes of what they carry are kept.
ALTER TABLE person ADD COLUMN name TEXT;

CREATE TABLE web_session (
    id         TEXT   PRIMARY KEY,
    person     TEXT   NOT NULL REFERENCES person (id),
    token_hash TEXT   NOT NULL UNIQUE,
    client     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);
CREATE INDEX web_session_by_person ON web_session (person, created_at);

-- Who failed to sign in lately: accounts and addresses.
CREATE TABLE sign_in_failure (
    subject  TEXT   PRIMARY KEY,
    failures BIGINT NOT NULL,
    last_at  BIGINT NOT NULL
);
CREATE INDEX sign_in_failure_by_age ON sign_in_failure (last_at);

-- Who someone is to another server that vouches for them.
CREATE TABLE identity (
    issuer     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    person     TEXT   NOT NULL REFERENCES person (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identity_by_person ON identity (person);

-- What may be used once and has been, until it would not be taken anyway.
CREATE TABLE spent (
    token_hash TEXT   PRIMARY KEY,
    until      BIGINT NOT NULL
);
