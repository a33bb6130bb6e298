-- Agent versions: prompts, model, tools and settings as one JSON document under a content id.
CREATE TABLE agent_version (
    project    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    content    TEXT   NOT NULL,
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX agent_version_by_agent ON agent_version (project, agent, created_at);

-- Which prompts belong to which agents: those of recorded versions.
CREATE TABLE agent_prompt (
    project TEXT NOT NULL,
    prompt  TEXT NOT NULL,
    agent   TEXT NOT NULL,
    PRIMARY KEY (project, prompt, agent)
);

-- What served where, and since when; the highest number is current. A version of NULL was not
-- recorded.
CREATE TABLE agent_serving (
    project     TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    number      BIGINT NOT NULL,
    version     TEXT,
    promotion   TEXT,
    since       BIGINT NOT NULL,
    PRIMARY KEY (project, agent, environment, number)
);

-- Promotions: the state machine as one JSON document, with the columns that are searched.
CREATE TABLE promotion (
    project     TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    state       TEXT   NOT NULL,
    document    TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX promotion_by_agent ON promotion (project, agent, created_at);
CREATE INDEX promotion_by_state ON promotion (state, updated_at);
