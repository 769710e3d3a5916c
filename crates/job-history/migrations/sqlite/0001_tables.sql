-- Every (job, item, fire) with its one outcome. Times are milliseconds since 1970 UTC.
CREATE TABLE IF NOT EXISTS ejob_fire (
    job VARCHAR(128) NOT NULL,
    item BIGINT NOT NULL,
    fire_ms BIGINT NOT NULL,
    outcome VARCHAR(20) NOT NULL,
    reason VARCHAR(4000),
    source VARCHAR(20),
    token BIGINT,
    instance VARCHAR(255),
    began_ms BIGINT,
    ended_ms BIGINT,
    settled VARCHAR(20),
    cause VARCHAR(4000),
    left_by VARCHAR(255),
    left_ms BIGINT,
    left_failover BIGINT,
    missed VARCHAR(100),
    missed_ms BIGINT,
    misfired BIGINT NOT NULL,
    gap_until_ms BIGINT,
    PRIMARY KEY (job, item, fire_ms)
);
CREATE INDEX IF NOT EXISTS ejob_fire_by_time ON ejob_fire (fire_ms, job, item);

-- What happened to a job besides its runs. A writer numbers what it writes.
CREATE TABLE IF NOT EXISTS ejob_event (
    writer VARCHAR(40) NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    job VARCHAR(128) NOT NULL,
    instance VARCHAR(255),
    kind VARCHAR(40) NOT NULL,
    item BIGINT,
    fire_ms BIGINT,
    text VARCHAR(4000) NOT NULL,
    PRIMARY KEY (writer, seq)
);
CREATE INDEX IF NOT EXISTS ejob_event_by_time ON ejob_event (at_ms, writer, seq);

-- How many records a writer had to drop, because its queue was full.
CREATE TABLE IF NOT EXISTS ejob_drop (
    writer VARCHAR(40) NOT NULL,
    seq BIGINT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    dropped BIGINT NOT NULL,
    PRIMARY KEY (writer, seq)
);

-- The tables of ElasticJob. Java instances and reports may use them too. Times are UTC.
CREATE TABLE IF NOT EXISTS JOB_EXECUTION_LOG (
    id VARCHAR(40) NOT NULL PRIMARY KEY,
    job_name VARCHAR(100) NOT NULL,
    task_id VARCHAR(255) NOT NULL,
    hostname VARCHAR(255) NOT NULL,
    ip VARCHAR(50) NOT NULL,
    sharding_item INT NOT NULL,
    execution_source VARCHAR(20) NOT NULL,
    failure_cause VARCHAR(4000) NULL,
    is_success INT NOT NULL,
    start_time TIMESTAMP NULL,
    complete_time TIMESTAMP NULL
);
CREATE TABLE IF NOT EXISTS JOB_STATUS_TRACE_LOG (
    id VARCHAR(40) NOT NULL PRIMARY KEY,
    job_name VARCHAR(100) NOT NULL,
    original_task_id VARCHAR(255) NOT NULL,
    task_id VARCHAR(255) NOT NULL,
    slave_id VARCHAR(50) NOT NULL,
    source VARCHAR(50) NOT NULL,
    execution_type VARCHAR(20) NOT NULL,
    sharding_item VARCHAR(100) NOT NULL,
    state VARCHAR(20) NOT NULL,
    message VARCHAR(4000) NULL,
    creation_time TIMESTAMP NULL
);
CREATE INDEX IF NOT EXISTS TASK_ID_STATE_INDEX ON JOB_STATUS_TRACE_LOG (task_id, state);
