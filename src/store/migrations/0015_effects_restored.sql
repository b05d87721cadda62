-- 1: came out of a backup under way. What the backup does not know may have happened since, and a person may have
-- dropped it: even a proven absence does not start it again by itself.
ALTER TABLE effects ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
