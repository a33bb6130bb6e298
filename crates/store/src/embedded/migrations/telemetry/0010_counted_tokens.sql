-- Of a sum of costs, the part that follows from tokens counted here because nobody said them.
ALTER TABLE trace ADD COLUMN approximate_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN approximate_cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup ADD COLUMN approximate_cost INTEGER NOT NULL DEFAULT 0;

-- Model calls without usage, whose tokens are yet to be counted.
CREATE TABLE uncounted (
    trace INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (trace, id)
) WITHOUT ROWID;
