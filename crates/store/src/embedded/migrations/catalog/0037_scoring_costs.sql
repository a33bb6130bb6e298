-- How much of a cost is approximate, because a provider did not report usage.
ALTER TABLE scoring_run ADD COLUMN approximate_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE scoring_verdict ADD COLUMN approximate_cost BIGINT NOT NULL DEFAULT 0;

-- When the rescoring began that a run is part of: one that was interrupted goes on from there.
ALTER TABLE scoring_run ADD COLUMN rescore_since BIGINT;
