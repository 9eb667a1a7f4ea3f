-- Who made a claim, as authentication proved it. Claims from before have none: they belong to their owner.
-- works with: 8

ALTER TABLE claims ADD COLUMN holder text NOT NULL DEFAULT '';

-- Sessions of pages. Only the hash of a session's id is kept: the table gives nobody access.

CREATE TABLE sessions (
    id_hash text PRIMARY KEY,
    identity jsonb NOT NULL,
    proof text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX sessions_expiry ON sessions (expires_at);
