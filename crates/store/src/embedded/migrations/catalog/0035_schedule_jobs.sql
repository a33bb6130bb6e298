-- Schedules run jobs of several kinds, and their runs are jobs of the queue. A run that was under
-- way is continued by the next server.
ALTER TABLE schedule ADD COLUMN job TEXT NOT NULL DEFAULT 'weekly-report';

INSERT INTO job (project, kind, id, group_id, payload, priority, phase, run_at, owner, expires_at,
    attempts, max_attempts, leases, is_held, error, result, enqueued_at, started_at, finished_at)
SELECT project, 'schedule-run', due_at || '/' || schedule, schedule,
    json_object('due_at', due_at), 0,
    CASE outcome WHEN 'done' THEN 'done' WHEN 'failed' THEN 'dead'
        ELSE CASE runner WHEN '' THEN 'queued' ELSE 'leased' END END,
    due_at, CASE runner WHEN '' THEN NULL ELSE runner END,
    CASE WHEN outcome = 'running' AND runner <> '' THEN claimed_until END,
    CASE runner WHEN '' THEN 0 ELSE 1 END, 10, CASE runner WHEN '' THEN 0 ELSE 1 END, 0,
    CASE outcome WHEN 'failed' THEN message END,
    CASE outcome WHEN 'done' THEN json_quote(message) END,
    began_at, CASE runner WHEN '' THEN NULL ELSE began_at END, ended_at
FROM schedule_run;
DROP TABLE schedule_run;
