-- Lines of output of runs. A run numbers its lines, so that lines that are left out are noticed.
CREATE TABLE IF NOT EXISTS ejob_output (
    job VARCHAR(128) NOT NULL,
    fire_ms BIGINT NOT NULL,
    item BIGINT NOT NULL,
    token BIGINT NOT NULL,
    writer VARCHAR(40) NOT NULL,
    seq BIGINT NOT NULL,
    instance VARCHAR(255) NOT NULL,
    attempt BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    stream VARCHAR(20) NOT NULL,
    text VARCHAR(4000) NOT NULL,
    PRIMARY KEY (job, fire_ms, item, token, writer, seq)
);
CREATE INDEX IF NOT EXISTS ejob_output_by_time ON ejob_output (fire_ms);
