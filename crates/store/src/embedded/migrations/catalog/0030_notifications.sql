-- Who is told when a turn ends or a person is needed. Addresses and keys are sealed with the key in
-- secret.key; the mark tells the same browser from another.
CREATE TABLE notice_receiver (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    mark       TEXT   NOT NULL,
    sealed     TEXT   NOT NULL,
    events     TEXT   NOT NULL,
    is_paused  BIGINT NOT NULL,
    person     TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project, id),
    UNIQUE (project, mark)
);

-- What they are told, and how that went. A row that waits is tried when it is due; whoever tries
-- holds it until a moment, and after that anyone may.
CREATE TABLE notice_delivery (
    project       TEXT   NOT NULL,
    receiver      TEXT   NOT NULL,
    notice        TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    session       TEXT,
    message       TEXT   NOT NULL,
    outcome       TEXT   NOT NULL,
    tries         BIGINT NOT NULL,
    status        BIGINT,
    made_at       BIGINT NOT NULL,
    due_at        BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    tried_at      BIGINT,
    PRIMARY KEY (project, receiver, notice)
);
CREATE INDEX notice_delivery_by_due ON notice_delivery (outcome, due_at);

-- Secrets of the server itself, by what they are for.
CREATE TABLE server_secret (
    name       TEXT   NOT NULL PRIMARY KEY,
    sealed     TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
