-- fragment: record
sequence, id, at, actor, replica, action, kind, namespace, name, uid, reason, evidence, outcome, error, completed_at

-- name: insert
INSERT INTO audit (
    id, at, actor, replica, action, kind, namespace, name, uid, reason, evidence, outcome, error
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', ''
WHERE $12::bigint IS NULL OR EXISTS (SELECT FROM replicas WHERE id = $4 AND epoch = $12 AND left_at IS NULL)
ON CONFLICT (id) DO NOTHING
RETURNING {record}

-- name: complete
UPDATE audit SET outcome = $2, error = $3, completed_at = $4 WHERE id = $1 AND outcome = 'pending' RETURNING {record}

-- name: get
SELECT {record} FROM audit WHERE id = $1

-- fragment: matching
($1::text IS NULL OR actor = $1) AND ($2::text IS NULL OR action = $2) AND ($3::text IS NULL OR kind = $3)
    AND ($4::text IS NULL OR namespace = $4) AND ($5::text IS NULL OR name = $5) AND ($6::text IS NULL OR uid = $6)
    AND ($7::text IS NULL OR outcome = $7) AND ($8::timestamptz IS NULL OR at >= $8)
    AND ($9::text[] IS NULL OR namespace = ANY($9)) AND (NOT $10::boolean OR namespace <> '')
    AND ($11::text IS NULL OR id = $11)

-- name: list
SELECT {record} FROM audit WHERE {matching} AND ($12::bigint IS NULL OR sequence < $12) ORDER BY sequence DESC LIMIT $13

-- name: count
SELECT count(*) FROM audit WHERE {matching}

-- name: count_completed
SELECT count(*) FROM (SELECT FROM audit WHERE at < $1 AND outcome <> 'pending' LIMIT $2) AS old

-- name: prune
WITH forgotten AS (
    DELETE FROM audit WHERE sequence IN (
        SELECT sequence FROM audit WHERE at < $1 AND outcome <> 'pending' ORDER BY at, sequence LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    RETURNING sequence
)
SELECT count(*) FROM forgotten
