-- The completed runs with the smallest and the greatest token: two if a fire ran twice.
-- The index is for the gaps that reach into a period, without a walk over the fires before it.
-- A step that was cut off is taken again, and MySQL has no ADD COLUMN IF NOT EXISTS.
SET @ejob_ddl = (
    SELECT IF(
        COUNT(*) = 0,
        'ALTER TABLE ejob_fire ADD COLUMN first_done_token BIGINT, ADD COLUMN first_done_by VARCHAR(255), ADD COLUMN last_done_token BIGINT, ADD COLUMN last_done_by VARCHAR(255), ADD INDEX ejob_fire_by_gap (job, gap_until_ms)',
        'DO 0'
    )
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'ejob_fire' AND column_name = 'last_done_by'
);
PREPARE ejob_step FROM @ejob_ddl;
EXECUTE ejob_step;
DEALLOCATE PREPARE ejob_step;
