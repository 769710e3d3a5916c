-- A step that was cut off is taken again, and MySQL has no ADD COLUMN IF NOT EXISTS.
SET @ejob_ddl = (
    SELECT IF(COUNT(*) = 0, 'ALTER TABLE ejob_fire ADD COLUMN gap_count BIGINT', 'DO 0')
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'ejob_fire' AND column_name = 'gap_count'
);
PREPARE ejob_step FROM @ejob_ddl;
EXECUTE ejob_step;
DEALLOCATE PREPARE ejob_step;
