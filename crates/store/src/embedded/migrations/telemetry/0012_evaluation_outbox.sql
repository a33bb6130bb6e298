-- Traces that evaluators have not seen as they are now, and when each was last written. A row is
-- written with its trace and goes once its jobs are in the catalog's queue, so that no crash in
-- between loses one.
CREATE TABLE evaluation_outbox (
    trace      INTEGER PRIMARY KEY,
    changed_at INTEGER NOT NULL
);
