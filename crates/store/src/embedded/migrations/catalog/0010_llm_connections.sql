-- How to reach models. Secrets are sealed with the key in secret.key; headers hold secrets too.
CREATE TABLE llm_connection (
    project           TEXT   NOT NULL,
    id                TEXT   NOT NULL,
    provider          TEXT   NOT NULL,
    adapter           TEXT   NOT NULL,
    sealed_secret     TEXT   NOT NULL,
    secret_hint       TEXT   NOT NULL,
    base_url          TEXT,
    custom_models     TEXT   NOT NULL,
    has_default_models BIGINT NOT NULL,
    sealed_headers    TEXT   NOT NULL,
    header_names      TEXT   NOT NULL,
    config            TEXT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    PRIMARY KEY (project, id),
    UNIQUE (project, provider)
);
