-- Signs of life of clients whose claims wait, in a table of their own: written every few seconds, they must neither lock
-- nor rewrite the rows that are being bound.

CREATE TABLE attendance (
    claim text PRIMARY KEY,
    seen_at timestamptz NOT NULL
) WITH (fillfactor = 70);

ALTER TABLE claims ADD COLUMN detached boolean NOT NULL DEFAULT false;

ALTER TABLE claims DROP CONSTRAINT claims_cause_check, ADD CONSTRAINT claims_cause_check CHECK (
    cause IN (
        'released', 'revoked', 'expired', 'wait_over', 'abandoned', 'drained', 'worker_lost', 'forgotten', 'not_started'
    )
);
