-- Since when a rule holds, or is broken, at every check. Rules that were checked before have it from their next check on.

ALTER TABLE invariants ADD COLUMN verdict_since timestamptz;
