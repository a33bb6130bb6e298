-- A week is drawn once for an agent, whatever its queue is called by then; '' is traces without an
-- agent. Where a renamed queue made a second draw, the first one stays.
ALTER TABLE review_item RENAME TO review_item_by_queue;
ALTER TABLE review_draw RENAME TO review_draw_by_queue;

CREATE TABLE review_draw (
    project  TEXT   NOT NULL,
    agent    TEXT   NOT NULL,
    week     TEXT   NOT NULL,
    queue    TEXT   NOT NULL,
    seed     TEXT   NOT NULL,
    plan     TEXT   NOT NULL,
    cells    TEXT   NOT NULL,
    is_cut   BIGINT NOT NULL,
    drawn_at BIGINT NOT NULL,
    PRIMARY KEY (project, agent, week),
    FOREIGN KEY (project, queue) REFERENCES annotation_queue (project, id)
);

CREATE TABLE review_item (
    project     TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    week        TEXT   NOT NULL,
    trace       TEXT   NOT NULL,
    item        TEXT   NOT NULL,
    selection   TEXT   NOT NULL,
    category    TEXT   NOT NULL,
    population  BIGINT NOT NULL,
    taken       BIGINT NOT NULL,
    probability DOUBLE PRECISION,
    quality     DOUBLE PRECISION,
    environment TEXT   NOT NULL,
    release     TEXT,
    reason      TEXT   NOT NULL,
    PRIMARY KEY (project, agent, week, trace),
    FOREIGN KEY (project, agent, week) REFERENCES review_draw (project, agent, week)
);

INSERT INTO review_draw (project, agent, week, queue, seed, plan, cells, is_cut, drawn_at)
SELECT project, COALESCE(agent, ''), week, queue, seed, plan, cells, is_cut, drawn_at
FROM review_draw_by_queue one
WHERE NOT EXISTS (
    SELECT 1 FROM review_draw_by_queue other
    WHERE other.project = one.project AND other.week = one.week
    AND COALESCE(other.agent, '') = COALESCE(one.agent, '')
    AND (other.drawn_at < one.drawn_at
        OR (other.drawn_at = one.drawn_at AND other.queue < one.queue))
);

INSERT INTO review_item (project, agent, week, trace, item, selection, category, population, taken,
    probability, quality, environment, release, reason)
SELECT item.project, draw.agent, item.week, item.trace, item.item, item.selection, item.category,
    item.population, item.taken, item.probability, item.quality, item.environment, item.release,
    item.reason
FROM review_item_by_queue item
JOIN review_draw draw
ON draw.project = item.project AND draw.queue = item.queue AND draw.week = item.week;

DROP TABLE review_item_by_queue;
DROP TABLE review_draw_by_queue;
CREATE INDEX review_item_by_trace ON review_item (project, trace);

-- The week of the draw that assigned a person who was on call; null for those assigned by hand.
ALTER TABLE annotation_assignment ADD COLUMN drawn_week TEXT;
