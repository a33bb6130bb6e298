-- When a use of media was last heard of: what refers to media may come in after them.
ALTER TABLE media_use ADD COLUMN noted_at BIGINT NOT NULL DEFAULT 0;

CREATE INDEX media_use_by_media ON media_use (project, media);

CREATE INDEX media_by_hash ON media (sha256);
