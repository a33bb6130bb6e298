-- Sessions are reviewed in queues: by which rubric, and into which dataset their labels go.
ALTER TABLE review_settings ADD COLUMN rubric TEXT NOT NULL DEFAULT 'session-quality';
ALTER TABLE review_settings ADD COLUMN dataset TEXT NOT NULL DEFAULT 'ground-truth';
