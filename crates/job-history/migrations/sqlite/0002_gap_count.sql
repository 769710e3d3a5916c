ALTER TABLE ejob_fire ADD COLUMN gap_count BIGINT;
