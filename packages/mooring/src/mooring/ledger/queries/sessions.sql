-- name: create
INSERT INTO sessions (id_hash, identity, proof, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id_hash) DO NOTHING

-- name: find
SELECT id_hash, identity, proof, created_at, expires_at FROM sessions WHERE id_hash = $1 AND expires_at > $2

-- name: delete
DELETE FROM sessions WHERE id_hash = $1

-- name: prune
WITH forgotten AS (
    DELETE FROM sessions WHERE id_hash IN (
        SELECT id_hash FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    RETURNING id_hash
)
SELECT count(*) FROM forgotten
