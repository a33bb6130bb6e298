-- Who wrote a version of a dataset item; nobody knows it of versions from before.
ALTER TABLE dataset_item ADD COLUMN author_kind TEXT;
ALTER TABLE dataset_item ADD COLUMN author TEXT;
ALTER TABLE dataset_item ADD COLUMN author_name TEXT;
