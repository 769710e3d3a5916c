-- The latest fires of one outcome, without a walk over all fires.
CREATE INDEX IF NOT EXISTS ejob_fire_by_outcome ON ejob_fire (outcome, fire_ms, job, item);
