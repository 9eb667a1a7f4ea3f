-- fragment: wait
namespace, pool,
    width_bucket(extract(epoch FROM claimed_at - coalesce(queued_at, created_at))::float8, $4::float8[]) AS bucket

-- fragment: half_second
namespace, pool, floor(extract(epoch FROM created_at - $1) * 2)::integer AS half

-- fragment: sample
namespace, pool, at, sample

-- name: write
-- Claims that got a worker are found among the live ones and among those that ended since: both have an index.
WITH began AS (
    SELECT {wait} FROM claims WHERE ended_at IS NULL AND claimed_at >= $1 AND claimed_at < $2
    UNION ALL
    SELECT {wait} FROM claims WHERE ended_at >= $1 AND claimed_at >= $1 AND claimed_at < $2
), waits AS (
    SELECT namespace, pool, jsonb_object_agg(bucket, claims) AS counts
    FROM (SELECT namespace, pool, bucket, count(*) AS claims FROM began GROUP BY 1, 2, 3) AS counted GROUP BY 1, 2
), over AS (
    SELECT namespace, pool,
        -- `running_at` outlives a requeue: only after `claimed_at` does it belong to the last worker.
        CASE WHEN running_at >= claimed_at
            THEN width_bucket(extract(epoch FROM ended_at - running_at)::float8, $4::float8[]) END AS bucket,
        count(*) AS claims
    FROM claims WHERE ended_at >= $1 AND ended_at < $2 GROUP BY 1, 2, 3
), holds AS (
    SELECT namespace, pool, sum(claims)::bigint AS ended,
        jsonb_object_agg(bucket, claims) FILTER (WHERE bucket IS NOT NULL) AS counts
    FROM over GROUP BY 1, 2
), arrived AS (
    SELECT {half_second} FROM claims
    WHERE ended_at IS NULL AND created_at >= $1 AND created_at < $2
    UNION ALL
    SELECT {half_second} FROM claims WHERE ended_at >= $1 AND created_at >= $1 AND created_at < $2
    UNION ALL
    SELECT namespace, pool, floor(extract(epoch FROM at - $1) * 2)::integer FROM refusals WHERE at >= $1 AND at < $2
), arrivals AS (
    SELECT namespace, pool, jsonb_object_agg(half, claims) AS counts
    FROM (SELECT namespace, pool, half, count(*) AS claims FROM arrived GROUP BY 1, 2, 3) AS counted GROUP BY 1, 2
), written AS (
    INSERT INTO history (namespace, pool, step, at, sample)
    SELECT gauges.namespace, gauges.pool, $5, $2, gauges.sample || jsonb_build_object(
        'waits', coalesce(waits.counts, '{}'), 'holds', coalesce(holds.counts, '{}'), 'ended', coalesce(holds.ended, 0),
        'arrivals', coalesce(arrivals.counts, '{}')
    )
    FROM jsonb_to_recordset($3) AS gauges (namespace text, pool text, sample jsonb)
    LEFT JOIN waits USING (namespace, pool) LEFT JOIN holds USING (namespace, pool)
    LEFT JOIN arrivals USING (namespace, pool)
    ON CONFLICT DO NOTHING
    RETURNING namespace, pool, sample
), held AS (
    -- A worker that serves several claims is shared among their owners.
    SELECT namespace, pool, owner, 1.0 / count(*) OVER (PARTITION BY pod_uid) AS part
    FROM claims WHERE ended_at IS NULL AND pod_uid IS NOT NULL
), used AS (
    SELECT namespace, pool, owner, 'busy' AS state, sum(part) * $5 AS seconds
    FROM held JOIN written USING (namespace, pool) GROUP BY 1, 2, 3
    UNION ALL
    SELECT namespace, pool, '', state, (sample -> 'workers' ->> state)::float8 * $5
    FROM written, unnest(ARRAY['idle', 'starting']) AS state
)
-- Only with a sample that is new: a repeat after a lost answer adds nothing.
INSERT INTO usage (day, namespace, pool, owner, state, seconds)
SELECT ($1::timestamptz AT TIME ZONE 'UTC')::date, namespace, pool, owner, state, seconds FROM used WHERE seconds > 0
ON CONFLICT (day, namespace, pool, owner, state) DO UPDATE SET seconds = usage.seconds + excluded.seconds

-- name: summarise
INSERT INTO history (namespace, pool, step, at, sample)
SELECT namespace, pool, $2, at, sample
FROM jsonb_to_recordset($1) AS samples (namespace text, pool text, at timestamptz, sample jsonb)
ON CONFLICT DO NOTHING

-- name: of_pool
SELECT {sample} FROM history
WHERE namespace = $1 AND pool = $2 AND step = $3 AND at > $4 AND at <= $5 ORDER BY at

-- name: of_all
SELECT {sample} FROM history WHERE step = $1 AND at > $2 AND at <= $3 ORDER BY namespace, pool, at

-- name: summarised_until
SELECT max(at) FROM history WHERE step = $1

-- name: prune
WITH forgotten AS (
    DELETE FROM history WHERE ctid IN (
        (SELECT ctid FROM history WHERE step = $1 AND at < $2 LIMIT $5)
        UNION ALL
        (SELECT ctid FROM history WHERE step = $3 AND at < $4 LIMIT $5)
        LIMIT $5
    )
    RETURNING at
)
SELECT count(*) FROM forgotten
