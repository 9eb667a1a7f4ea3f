-- Why a claim ended or lost its worker, for programs. Claims that ended before have none.

ALTER TABLE claims ADD COLUMN cause text CONSTRAINT claims_cause_check CHECK (
    cause IN ('released', 'revoked', 'expired', 'wait_over', 'drained', 'worker_lost', 'forgotten', 'not_started')
);
