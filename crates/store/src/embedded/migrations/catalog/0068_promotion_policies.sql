-- How versions of an agent are promoted: a JSON document; NULL is the default, which is off.
ALTER TABLE agent ADD COLUMN promotion TEXT;
