-- The key of the seals on stamps: one row, made when the database gets this table, and never changed. A backup keeps it,
-- so that after a restore the stamps of the lost time can still be verified.

CREATE TABLE seal_keys (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    secret text NOT NULL,
    since timestamptz NOT NULL
);
