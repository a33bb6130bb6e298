-- One backlog of proposals from every source; its rows have what is searched, the rest is one JSON
-- document. Proposals with one key are one proposal, unless it was promoted and is needed again.
CREATE TABLE proposal (
    project        TEXT   NOT NULL,
    id             TEXT   NOT NULL,
    proposal_key   TEXT   NOT NULL,
    source         TEXT   NOT NULL,
    agent          TEXT   NOT NULL,
    component      TEXT   NOT NULL,
    state          TEXT   NOT NULL,
    priority       DOUBLE PRECISION NOT NULL,
    content        TEXT   NOT NULL,
    status         TEXT   NOT NULL,
    prompt         TEXT,
    prompt_version BIGINT,
    first_week     TEXT   NOT NULL,
    last_week      TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX proposal_by_key ON proposal (project, proposal_key);
CREATE INDEX proposal_by_prompt ON proposal (project, prompt, prompt_version);
CREATE TABLE proposal_step (
    project  TEXT   NOT NULL,
    proposal TEXT   NOT NULL,
    number   BIGINT NOT NULL,
    state    TEXT   NOT NULL,
    note     TEXT,
    actor    TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (project, proposal, number)
);

-- What an agent's week was like: provisional until it is published, then it stays as it is.
CREATE TABLE feedback_report (
    project      TEXT   NOT NULL,
    agent        TEXT   NOT NULL,
    week         TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    published_at BIGINT,
    PRIMARY KEY (project, agent, week)
);

-- Suggestions of weekly reports are proposals; what was decided about them stays.
INSERT INTO proposal (project, id, proposal_key, source, agent, component, state, priority, content,
    status, first_week, last_week, created_at, updated_at)
SELECT s.project, s.id, s.advice, 'weekly-report', '',
    CASE s.edit WHEN 'system' THEN 'tool' ELSE 'prompt' END,
    CASE s.progress WHEN 'accepted' THEN 'accepted' WHEN 'done' THEN 'promoted'
        WHEN 'dismissed' THEN 'rejected' ELSE 'new' END,
    0.0,
    json_object('key', s.advice, 'source', 'weekly-report',
        'component', CASE s.edit WHEN 'system' THEN 'tool' ELSE 'prompt' END,
        'title', s.title, 'reason', s.reason, 'change', s.text, 'sessions', json(s.sessions),
        'failures', json_array_length(s.sessions),
        'effort', CASE s.edit WHEN 'system' THEN 'medium' ELSE 'low' END, 'priority', 0.0,
        'suggestion', json_object('severity', s.severity, 'dimension', s.dimension,
            'edit', s.edit)),
    CASE s.progress WHEN 'accepted' THEN '{"state":"accepted"}' WHEN 'done' THEN '{"state":"promoted"}'
        WHEN 'dismissed' THEN '{"state":"rejected","rejection":{"kind":"declined","reason":"dismissed"}}'
        ELSE '{"state":"new"}' END,
    s.first_week, s.last_week, s.created_at,
    COALESCE((SELECT MAX(at) FROM suggestion_step step
        WHERE step.project = s.project AND step.suggestion = s.id), s.created_at)
FROM suggestion s;
INSERT INTO proposal_step (project, proposal, number, state, note, actor, at)
SELECT project, suggestion, number,
    CASE progress WHEN 'accepted' THEN 'accepted' WHEN 'done' THEN 'promoted'
        WHEN 'dismissed' THEN 'rejected' ELSE 'new' END,
    NULL, actor, at
FROM suggestion_step;
DROP TABLE suggestion_step;
DROP TABLE suggestion;
