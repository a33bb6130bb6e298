-- Chats with targets: which session talks to which target. What was said is in the session's
-- traces.
CREATE TABLE target_chat (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    target     TEXT   NOT NULL,
    title      TEXT   NOT NULL,
    turns      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);

CREATE INDEX target_chat_by_change ON target_chat (project, updated_at);
