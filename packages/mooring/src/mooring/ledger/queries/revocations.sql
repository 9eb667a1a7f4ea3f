-- fragment: revocation
claim_id, namespace, pool, mint, tries, next_at

-- name: intend
INSERT INTO revocations (claim_id, namespace, pool, mint, next_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (claim_id) DO UPDATE SET mint = excluded.mint

-- name: take
UPDATE revocations SET tries = tries + 1, next_at = $2
WHERE claim_id IN (
    SELECT claim_id FROM revocations LEFT JOIN claims ON claims.id = claim_id
    WHERE next_at <= $1 AND (claims.id IS NULL OR claims.ended_at IS NOT NULL)
    ORDER BY next_at, claim_id LIMIT $3
    FOR UPDATE OF revocations SKIP LOCKED
)
RETURNING {revocation}

-- name: postpone
UPDATE revocations SET next_at = $2 WHERE claim_id = $1

-- name: settle
DELETE FROM revocations WHERE claim_id = $1
