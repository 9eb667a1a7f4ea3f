-- What was learnt of the demand of pools, and claims that were refused because no worker was idle.
-- works with: 10

CREATE TABLE demand (
    namespace text NOT NULL,
    pool text NOT NULL,
    at timestamptz NOT NULL,  -- samples of the history up to then are learnt
    model jsonb NOT NULL,
    PRIMARY KEY (namespace, pool)
);

CREATE TABLE refusals (
    namespace text NOT NULL,
    pool text NOT NULL,
    at timestamptz NOT NULL,  -- of the first refusal within the ten seconds of `step`
    step timestamptz NOT NULL,
    owner text NOT NULL,
    PRIMARY KEY (namespace, pool, step, owner)
);

CREATE INDEX refusals_age ON refusals (at);
