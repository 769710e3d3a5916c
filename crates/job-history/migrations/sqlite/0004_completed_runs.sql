-- The completed runs with the smallest and the greatest token: two if a fire ran twice.
ALTER TABLE ejob_fire ADD COLUMN first_done_token BIGINT;
ALTER TABLE ejob_fire ADD COLUMN first_done_by VARCHAR(255);
ALTER TABLE ejob_fire ADD COLUMN last_done_token BIGINT;
ALTER TABLE ejob_fire ADD COLUMN last_done_by VARCHAR(255);
-- The gaps that reach into a period, without a walk over the fires before it.
CREATE INDEX IF NOT EXISTS ejob_fire_by_gap ON ejob_fire (job, gap_until_ms)
    WHERE gap_until_ms IS NOT NULL;
