-- The past fire that a run of a backfill repeats.
ALTER TABLE ejob_fire ADD COLUMN past_fire_ms BIGINT;
-- The runs of past fires of a period, without a walk over the fires since then.
CREATE INDEX IF NOT EXISTS ejob_fire_by_past_fire ON ejob_fire (job, past_fire_ms)
    WHERE past_fire_ms IS NOT NULL;
