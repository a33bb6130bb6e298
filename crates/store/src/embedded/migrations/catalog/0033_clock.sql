-- When this server last found its clock in order, so that a clock that was set wrong is noticed
-- before anything is deleted by it. One row.
CREATE TABLE clock_mark (
    id         BIGINT NOT NULL PRIMARY KEY,
    seen_at    BIGINT NOT NULL,
    held_since BIGINT
);
