-- The mint's part of a payload apart from the client's, so that it can be removed when the claim loses its worker.
-- `attempt` counts the workers that a claim was bound to. Open claims of before keep both parts in `payload`.

ALTER TABLE claims ADD COLUMN minted jsonb, ADD COLUMN attempt integer NOT NULL DEFAULT 0;
