-- Targets of experiments that users of a project have stored. The definition is TOML that refers to
-- secrets by name; their values are sealed.
CREATE TABLE experiment_target (
    project        TEXT   NOT NULL,
    name           TEXT   NOT NULL,
    definition     TEXT   NOT NULL,
    secret_names   TEXT   NOT NULL,
    sealed_secrets TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (project, name)
);
