-- Durable background jobs. The id is the idempotency key: enqueueing it twice is one job. Of the
-- jobs of a group, at most one is leased. `leases` counts the leases that were granted; a change
-- names the lease that it is made under. Times are nanoseconds.
CREATE TABLE job (
    project      TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    group_id     TEXT,
    payload      TEXT   NOT NULL,
    priority     BIGINT NOT NULL,
    phase        TEXT   NOT NULL,
    run_at       BIGINT NOT NULL,
    owner        TEXT,
    expires_at   BIGINT,
    attempts     BIGINT NOT NULL,
    max_attempts BIGINT NOT NULL,
    leases       BIGINT NOT NULL,
    is_held      BIGINT NOT NULL,
    error        TEXT,
    result       TEXT,
    enqueued_at  BIGINT NOT NULL,
    started_at   BIGINT,
    finished_at  BIGINT,
    PRIMARY KEY (project, kind, id)
);
CREATE INDEX job_by_phase ON job (kind, phase, run_at);
CREATE INDEX job_by_group ON job (project, kind, group_id, phase);

-- Deliveries of notifications. One that was being tried is tried again.
INSERT INTO job (project, kind, id, group_id, payload, priority, phase, run_at, attempts,
    max_attempts, leases, is_held, error, result, enqueued_at, started_at, finished_at)
SELECT d.project, 'notice', d.receiver || '/' || d.notice, d.receiver,
    json_object('notice', d.notice, 'kind', d.kind, 'session', d.session, 'message', d.message),
    0,
    CASE d.outcome WHEN 'waiting' THEN 'queued' WHEN 'delivered' THEN 'done' ELSE 'dead' END,
    d.due_at, d.tries, 100, d.tries,
    CASE WHEN r.is_paused = 1 AND d.kind <> 'test' AND d.outcome = 'waiting' THEN 1 ELSE 0 END,
    CASE d.outcome WHEN 'failed' THEN 'not delivered' WHEN 'refused' THEN 'the address is not public'
        END,
    json_object('status', d.status, 'refused', json(CASE d.outcome WHEN 'refused' THEN 'true'
        ELSE 'false' END)),
    d.made_at, d.tried_at, CASE d.outcome WHEN 'waiting' THEN NULL ELSE d.tried_at END
FROM notice_delivery d JOIN notice_receiver r ON r.project = d.project AND r.id = d.receiver;
DROP TABLE notice_delivery;
