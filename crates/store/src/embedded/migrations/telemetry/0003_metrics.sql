-- Whether the client says that its application begins with this step, though it has a parent.
ALTER TABLE observation ADD COLUMN app_root INTEGER NOT NULL DEFAULT 0;

-- How many costs are known, and all latencies together: what averages need. The sum wraps around
-- rather than stop at the end of its range, so that what was added can be taken away.
ALTER TABLE rollup ADD COLUMN costs_known INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup ADD COLUMN latency_nanos INTEGER NOT NULL DEFAULT 0;

-- The words that were numbered keep their numbers, and all others were counted as "other".
UPDATE rollup SET costs_known = known.costs_known, latency_nanos = known.latency_nanos
FROM (
    SELECT o.project AS project,
           (o.start - ((o.start % 3600000000000) + 3600000000000) % 3600000000000)
               / 3600000000000 AS hour,
           coalesce(e.no, -1) AS environment,
           o.kind AS kind,
           CASE WHEN coalesce(o.name, '') = '' THEN 0 ELSE coalesce(n.no, -1) END AS name,
           CASE WHEN coalesce(o.model, '') = '' THEN 0 ELSE coalesce(m.no, -1) END AS model,
           count(o.cost) AS costs_known,
           coalesce(sum(max(o.end, o.start) - o.start), 0) AS latency_nanos
    FROM observation o
    LEFT JOIN term e
        ON e.project = o.project AND e.dimension = 0
        AND e.word = coalesce(nullif(o.environment, ''), 'default')
    LEFT JOIN term n ON n.project = o.project AND n.dimension = 1 AND n.word = o.name
    LEFT JOIN term m ON m.project = o.project AND m.dimension = 2 AND m.word = o.model
    GROUP BY 1, 2, 3, 4, 5, 6
) AS known
WHERE rollup.project = known.project AND rollup.hour = known.hour
    AND rollup.environment = known.environment AND rollup.kind = known.kind
    AND rollup.name = known.name AND rollup.model = known.model;
