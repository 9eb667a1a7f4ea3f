-- Worker-seconds by day, pool, owner and state, in UTC.
-- works with: 10

CREATE TABLE usage (
    day date NOT NULL,
    namespace text NOT NULL,
    pool text NOT NULL,
    owner text NOT NULL,  -- empty for workers that nobody holds
    state text NOT NULL,  -- idle, busy, starting
    seconds double precision NOT NULL,
    PRIMARY KEY (day, namespace, pool, owner, state)
);
