-- The latest fires of one outcome, without a walk over all fires. MySQL has no CREATE INDEX IF NOT
-- EXISTS, and a step that was cut off is taken again.
SET @ejob_ddl = (
    SELECT IF(
        COUNT(*) = 0,
        'CREATE INDEX ejob_fire_by_outcome ON ejob_fire (outcome, fire_ms, job, item)',
        'DO 0'
    )
    FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'ejob_fire'
        AND index_name = 'ejob_fire_by_outcome'
);
PREPARE ejob_step FROM @ejob_ddl;
EXECUTE ejob_step;
DEALLOCATE PREPARE ejob_step;
