-- Scheduled weeks may be judged by any judge and any rubric, and may have a budget in picodollars.
ALTER TABLE schedule ADD COLUMN rubric TEXT NOT NULL DEFAULT 'session-quality';
ALTER TABLE schedule ADD COLUMN max_cost BIGINT;
