-- Samples of pools: every 10 seconds for a day, every 5 minutes for 30 days. Nothing is decided from them.
-- works with: 9

CREATE TABLE history (
    namespace text NOT NULL,
    pool text NOT NULL,
    step integer NOT NULL,    -- seconds that a sample stands for: 10 or 300
    at timestamptz NOT NULL,  -- the end of these seconds
    sample jsonb NOT NULL,
    PRIMARY KEY (namespace, pool, step, at)
);

CREATE INDEX history_age ON history (step, at);
