-- Credentials to revoke when their claim has ended: written before the mint is called, deleted when they are revoked.

CREATE TABLE revocations (
    claim_id text PRIMARY KEY,
    namespace text NOT NULL,
    pool text NOT NULL,
    mint jsonb NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL
) WITH (fillfactor = 70);
