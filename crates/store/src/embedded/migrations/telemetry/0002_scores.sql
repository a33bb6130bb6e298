-- Scores on runs of datasets, found without walking all scores. Partial: other scores pay nothing.
CREATE INDEX score_by_dataset_run ON score (project, dataset_run) WHERE dataset_run IS NOT NULL;
