-- Audited changes of operators, copied from the registry, which keeps the last 32 of each job and
-- of each group of jobs. For a group, `job` is `group/` and its name: no name of a job has a slash.
CREATE TABLE IF NOT EXISTS ejob_audit (
    job VARCHAR(134) NOT NULL,
    id VARCHAR(255) NOT NULL,
    at_ms BIGINT NOT NULL,
    who VARCHAR(512) NOT NULL,
    why VARCHAR(512) NOT NULL,
    act VARCHAR(512) NOT NULL,
    target VARCHAR(512) NOT NULL,
    effect VARCHAR(512) NOT NULL,
    PRIMARY KEY (job, id)
);
CREATE INDEX IF NOT EXISTS ejob_audit_by_time ON ejob_audit (at_ms, job, id);
