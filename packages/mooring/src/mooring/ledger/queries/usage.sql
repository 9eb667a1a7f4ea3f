-- name: read
SELECT day, namespace, pool, owner, state, seconds FROM usage
WHERE day >= $1 AND day <= $2 AND ($3::text[] IS NULL OR namespace = ANY($3))
ORDER BY day, namespace, pool, owner, state

-- name: prune
WITH forgotten AS (
    DELETE FROM usage WHERE ctid IN (SELECT ctid FROM usage WHERE day < $1 LIMIT $2) RETURNING day
)
SELECT count(*) FROM forgotten
