-- Of a user's costs, the part that follows from tokens counted here.
ALTER TABLE user_day ADD COLUMN approximate_cost INTEGER NOT NULL DEFAULT 0;

UPDATE user_day SET approximate_cost = told.approximate_cost
FROM (
    SELECT project,
           (timestamp - ((timestamp % 86400000000000) + 86400000000000) % 86400000000000)
               / 86400000000000 AS day,
           user, coalesce(environment, 'default') AS environment,
           sum(approximate_cost) AS approximate_cost
    FROM trace WHERE user IS NOT NULL AND user <> '' AND approximate_cost <> 0
    GROUP BY 1, 2, 3, 4
) AS told
WHERE user_day.project = told.project AND user_day.day = told.day
    AND user_day.user = told.user AND user_day.environment = told.environment;
