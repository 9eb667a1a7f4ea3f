-- Signs of life of workers without a live claim. `count` only says that a word is newer than one seen before; clocks of
-- replicas are not compared. `heard_at` is for housekeeping.

CREATE TABLE words (
    speaker text PRIMARY KEY,
    count bigint NOT NULL,
    heard_at timestamptz NOT NULL
) WITH (fillfactor = 50);
