-- What the versions of an evaluator did in an hour, counted from 1970. A call is counted, and the
-- most that it can cost is reserved, before it is sent; its answer replaces the reservation by the
-- cost. What a killed server had reserved stays, because the call may have been billed. Costs are
-- millionths of a millionth of a dollar; the lag is in milliseconds.
CREATE TABLE evaluator_hour (
    project   TEXT   NOT NULL,
    evaluator TEXT   NOT NULL,
    version   BIGINT NOT NULL,
    hour      BIGINT NOT NULL,
    judged    BIGINT NOT NULL DEFAULT 0,
    skipped   BIGINT NOT NULL DEFAULT 0,
    failed    BIGINT NOT NULL DEFAULT 0,
    calls     BIGINT NOT NULL DEFAULT 0,
    unpriced  BIGINT NOT NULL DEFAULT 0,
    cost      BIGINT NOT NULL DEFAULT 0,
    reserved  BIGINT NOT NULL DEFAULT 0,
    lag       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project, evaluator, version, hour)
);
