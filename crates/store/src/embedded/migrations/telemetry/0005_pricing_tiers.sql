-- The tier of prices that an observation was priced by; null if its client said what it cost.
ALTER TABLE observation ADD COLUMN pricing_tier TEXT;
