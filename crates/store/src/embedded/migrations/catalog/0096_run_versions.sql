-- The agent version that a run is evidence for: a run serves the promotions of one version only.
CREATE TABLE run_version (
    project TEXT NOT NULL,
    run     TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (project, run)
);
