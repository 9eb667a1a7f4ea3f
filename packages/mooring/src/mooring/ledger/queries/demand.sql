-- name: load
SELECT at, model FROM demand WHERE namespace = $1 AND pool = $2

-- name: save
INSERT INTO demand (namespace, pool, at, model) VALUES ($1, $2, $3, $4)
ON CONFLICT (namespace, pool) DO UPDATE SET at = excluded.at, model = excluded.model WHERE demand.at <= excluded.at

-- name: refuse
INSERT INTO refusals (namespace, pool, at, step, owner) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING

-- name: prune
WITH forgotten AS (
    DELETE FROM refusals WHERE ctid IN (SELECT ctid FROM refusals WHERE at < $1 LIMIT $3) RETURNING at
), unused AS (
    DELETE FROM demand WHERE at < $2
)
SELECT count(*) FROM forgotten
