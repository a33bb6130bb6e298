-- A run that scores a session holds the lease of a job, claimed by its id.
INSERT INTO job (project, kind, id, payload, priority, phase, run_at, owner, expires_at, attempts,
    max_attempts, leases, is_held, enqueued_at, started_at)
SELECT project, 'score-session', rubric || '/' || session, '{}', 0, 'leased', 0, run, expires_at, 1,
    4294967295, 1, 0, 0, 0
FROM scoring_claim;
DROP TABLE scoring_claim;
