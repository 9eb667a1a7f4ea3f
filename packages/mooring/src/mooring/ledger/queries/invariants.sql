-- fragment: rule
id, paused, paused_by, reason, paused_since, checked_at, broken, found, healed, heal_seconds, last_heal_seconds, evidence,
verdict_since

-- name: all
SELECT {rule} FROM invariants ORDER BY id

-- name: switch
WITH switched AS (
    INSERT INTO invariants (id, paused, paused_by, reason, paused_since) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (id) DO UPDATE SET
        paused = excluded.paused, paused_by = excluded.paused_by, reason = excluded.reason,
        paused_since = CASE WHEN excluded.paused THEN coalesce(invariants.paused_since, excluded.paused_since) END
    RETURNING {rule}
)
SELECT {rule}, pg_notify('mooring_invariant', id) FROM switched

-- name: record
INSERT INTO invariants (id, checked_at, verdict_since, broken, found, healed, heal_seconds, last_heal_seconds, evidence)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET
    checked_at = greatest(invariants.checked_at, excluded.checked_at),
    verdict_since = CASE WHEN (invariants.broken > 0) = (excluded.broken > 0) AND invariants.verdict_since IS NOT NULL
        THEN invariants.verdict_since ELSE excluded.verdict_since END,
    broken = excluded.broken,
    found = invariants.found + excluded.found,
    healed = invariants.healed + excluded.healed,
    heal_seconds = invariants.heal_seconds + excluded.heal_seconds,
    last_heal_seconds = coalesce(excluded.last_heal_seconds, invariants.last_heal_seconds),
    evidence = coalesce(excluded.evidence, invariants.evidence)
