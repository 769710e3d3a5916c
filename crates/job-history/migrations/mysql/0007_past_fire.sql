-- The past fire that a run of a backfill repeats.
-- The index is for the runs of past fires of a period, without a walk over the fires since then.
-- A step that was cut off is taken again, and MySQL has no ADD COLUMN IF NOT EXISTS.
SET @ejob_ddl = (
    SELECT IF(
        COUNT(*) = 0,
        'ALTER TABLE ejob_fire ADD COLUMN past_fire_ms BIGINT, ADD INDEX ejob_fire_by_past_fire (job, past_fire_ms)',
        'DO 0'
    )
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'ejob_fire' AND column_name = 'past_fire_ms'
);
PREPARE ejob_step FROM @ejob_ddl;
EXECUTE ejob_step;
DEALLOCATE PREPARE ejob_step;
