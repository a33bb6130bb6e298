-- Whose queues a key with the role reviewer sees. Keys from before belong to nobody, and see none.
ALTER TABLE api_key ADD COLUMN person TEXT;

-- Every read of a reviewer asks which queues an object is in.
CREATE INDEX annotation_item_by_object ON annotation_item (project, object_kind, object);
