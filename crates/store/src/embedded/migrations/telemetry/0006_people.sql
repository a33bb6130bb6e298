-- Steps that failed, by session.
ALTER TABLE session ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;

UPDATE session SET errors = told.errors
FROM (
    SELECT project, session, sum(errors) AS errors FROM trace
    WHERE session IS NOT NULL AND errors > 0 GROUP BY project, session
) AS told
WHERE session.project = told.project AND session.id = told.session;

-- Sums over traces by user, day (UTC) and environment: what a list of users reads instead of the
-- traces themselves. Every column but the last can be subtracted again.
CREATE TABLE user_day (
    project      INTEGER NOT NULL,
    day          INTEGER NOT NULL,
    user         TEXT    NOT NULL,
    environment  TEXT    NOT NULL,
    traces       INTEGER NOT NULL,
    errors       INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    costs_known  INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (project, day, user, environment)
) WITHOUT ROWID;
CREATE INDEX user_day_by_user ON user_day (project, user, day);

INSERT INTO user_day (project, day, user, environment, traces, errors, total_tokens, cost,
    costs_known, last_at)
SELECT project,
       (timestamp - ((timestamp % 86400000000000) + 86400000000000) % 86400000000000)
           / 86400000000000,
       user, coalesce(environment, 'default'), count(*), sum(errors), sum(total_tokens),
       sum(cost), sum(costs_known), max(timestamp)
FROM trace WHERE user IS NOT NULL AND user <> ''
GROUP BY 1, 2, 3, 4;

-- The newest scores of one name, found without walking all scores. SQLite takes it only for
-- questions that say `no > 0`: it cannot know that a trace has far fewer scores than a name.
CREATE INDEX score_by_name ON score (project, name, timestamp, environment) WHERE no > 0;
