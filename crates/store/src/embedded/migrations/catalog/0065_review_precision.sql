-- What an agent's weekly sample is planned for: the half-width of the accuracy's interval, and the
-- share of spot checks.
ALTER TABLE agent ADD COLUMN half_width DOUBLE PRECISION NOT NULL DEFAULT 0.1;
ALTER TABLE agent ADD COLUMN spot_share DOUBLE PRECISION NOT NULL DEFAULT 0;
