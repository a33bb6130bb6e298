-- Repeats per item after extensions of a run. The plan keeps those that it was started with, so that
-- the same command continues it; NULL means that it has those.
ALTER TABLE experiment_run ADD COLUMN repeats BIGINT;
