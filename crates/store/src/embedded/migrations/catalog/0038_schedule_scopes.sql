-- The part of the project that a schedule is about, as JSON; all of it where there is none.
ALTER TABLE schedule ADD COLUMN scope TEXT;
