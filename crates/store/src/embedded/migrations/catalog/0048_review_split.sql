-- The split of reviews without feedback that a person accepted; NULL is the default split.
ALTER TABLE agent ADD COLUMN flagged_share DOUBLE PRECISION;
