-- Projects that were deleted lately. What they recorded is on its way out, and a request that was
-- under way then may still record a little more.
CREATE TABLE deleted_project (
    id         TEXT   NOT NULL PRIMARY KEY,
    deleted_at BIGINT NOT NULL
);
