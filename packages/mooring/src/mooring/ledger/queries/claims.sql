-- Indexes know queued, live and ended claims by `ended_at` and `pod_uid`, not by `state` (migration hot_updates).

-- fragment: claim
id, namespace, pool, owner, state, priority, idempotency_key, request_hash, epoch, previous_epoch, pod_name, pod_uid,
slot, address, protected_until, ticket, retryable, rebinds, attempt, payload, minted, delivered_epoch, ttl_seconds,
wait_until, created_at, queued_at, claimed_at, running_at, heartbeat_at, ended_at, reason, cause, detached, holder

-- fragment: queued
ended_at IS NULL AND pod_uid IS NULL

-- fragment: live
ended_at IS NULL AND pod_uid IS NOT NULL

-- fragment: gate
CASE WHEN $12::bigint IS NULL THEN false ELSE $12 <= (
    SELECT count(*) FROM claims WHERE namespace = $2 AND pool = $3 AND owner = $4 AND ended_at IS NULL
) END AS over_limit

-- name: lock_owner
-- Held to the end of the transaction, so that two requests of one owner are counted one after the other.
SELECT pg_advisory_xact_lock(hashtextextended($1 || '/' || $2 || '/' || $3, 1))

-- name: lock_queue
-- Held to the end of the transaction, so that requests that would wait are counted one after the other.
SELECT pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 4))

-- name: lock_pod
-- A statement of its own: the one after it then sees every claim that was bound to the pod under this lock.
SELECT pg_advisory_xact_lock(hashtextextended($1, 3))

-- fragment: shared_with_others
EXISTS (
    SELECT FROM claims AS others
    WHERE others.pod_uid = $4 AND others.ended_at IS NULL AND others.owner <> claims.owner
)

-- name: insert_claimed
-- The slot's lock comes before nextval: otherwise a slow claimer could insert a lower epoch after a faster one's end.
-- The queue is read in its order, so that the planner chooses its index whatever statistics it has.
WITH gate AS MATERIALIZED (
    SELECT {gate}, NOT $13::boolean AND EXISTS (
        SELECT FROM (
            SELECT FROM claims
            WHERE namespace = $2 AND pool = $3 AND {queued} AND priority >= $5
                AND (wait_until IS NULL OR wait_until > $11) AND (NOT $20::boolean OR owner = $4)
            ORDER BY priority DESC, ticket OFFSET 0
        ) AS head
    ) AS queue_ahead, $19::boolean AND EXISTS (
        SELECT FROM claims WHERE pod_uid = $15 AND ended_at IS NULL AND owner <> $4
    ) AS worker_taken
), turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($15 || '/' || $16::integer, 2))
    FROM gate WHERE NOT over_limit AND NOT queue_ahead AND NOT worker_taken
), created AS (
    INSERT INTO claims (
        id, namespace, pool, owner, priority, idempotency_key, request_hash, retryable, payload, ttl_seconds,
        created_at, claimed_at, heartbeat_at, state, epoch, ticket, attempt,
        pod_name, pod_uid, slot, address, protected_until, detached, holder
    )
    SELECT
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
        $11, $11, $11, 'claimed', nextval('claim_epochs'), nextval('claim_tickets'), 1,
        $14, $15, $16, $17, $18, $21, $22
    FROM turn
    ON CONFLICT DO NOTHING
    RETURNING {claim}
)
SELECT gate.over_limit, gate.queue_ahead, gate.worker_taken, created.* FROM gate LEFT JOIN created ON true

-- name: insert_queued
-- Behind 100 others a claim does not notify: those that bind free workers would wait for thousands of such commits.
WITH gate AS MATERIALIZED (
    SELECT 100 <= (SELECT count(*) FROM (SELECT FROM claims WHERE namespace = $2 AND pool = $3 AND {queued} LIMIT 100) AS head)
        AS known, {gate}, false AS queue_ahead, false AS worker_taken,
        CASE WHEN $15::bigint IS NULL THEN false ELSE $15 <= (
            SELECT count(*) FROM claims WHERE namespace = $2 AND pool = $3 AND {queued} AND (NOT $17::boolean OR owner = $4)
        ) END AS queue_full
), created AS (
    INSERT INTO claims (
        id, namespace, pool, owner, priority, idempotency_key, request_hash, retryable, payload, ttl_seconds,
        created_at, queued_at, state, epoch, ticket, address, wait_until, detached, holder
    )
    SELECT
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
        $11, $11, 'queued', nextval('claim_epochs'), nextval('claim_tickets'), '', $13, $14, $16
    FROM gate WHERE NOT over_limit AND NOT queue_full
    ON CONFLICT DO NOTHING
    RETURNING {claim}
)
SELECT gate.over_limit, gate.queue_ahead, gate.worker_taken, gate.queue_full, created.*,
    CASE WHEN id IS NOT NULL AND NOT known THEN pg_notify('mooring_queue', namespace || '/' || pool) END
FROM gate LEFT JOIN created ON true

-- name: find_request
-- The claim that an earlier copy of the same request made: by its id first, else by its key.
SELECT {claim} FROM claims
WHERE id = $1 OR (namespace = $2 AND pool = $3 AND idempotency_key = $4)
ORDER BY id = $1 DESC LIMIT 1

-- name: bind_next
-- First the slot's lock, then the row's: the same order as `bind`, or the two could wait for each other.
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($4 || '/' || $5::integer, 2))
), head AS MATERIALIZED (
    SELECT id AS chosen FROM claims
    WHERE (SELECT count(*) FROM turn) = 1
        AND namespace = $1 AND pool = $2 AND {queued} AND (wait_until IS NULL OR wait_until > $8)
        AND NOT ($9::boolean AND {shared_with_others})
        AND id <> ALL($10::text[])
    ORDER BY priority DESC, ticket LIMIT 1
    FOR UPDATE SKIP LOCKED
), bound AS (
    UPDATE claims SET
        state = 'claimed', previous_epoch = epoch, epoch = nextval('claim_epochs'), pod_name = $3, pod_uid = $4,
        slot = $5, address = $6, protected_until = $7, claimed_at = $8, heartbeat_at = $8, reason = '',
        attempt = attempt + 1, minted = NULL
    FROM head WHERE id = chosen
    RETURNING {claim}
)
SELECT {claim}, pg_notify('mooring_claim', id) FROM bound

-- name: bind
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended($4 || '/' || $5::integer, 2))
), bound AS (
    UPDATE claims SET
        state = 'claimed', previous_epoch = epoch, epoch = nextval('claim_epochs'), pod_name = $3, pod_uid = $4,
        slot = $5, address = $6, protected_until = $7, claimed_at = $8, heartbeat_at = $8, reason = '',
        attempt = attempt + 1, minted = NULL
    FROM turn WHERE id = $1 AND epoch = $2 AND state IN ('queued', 'claimed')
        AND NOT ($9::boolean AND {shared_with_others})
    RETURNING {claim}
)
SELECT {claim}, CASE WHEN queued_at IS NOT NULL THEN pg_notify('mooring_claim', id) END FROM bound

-- name: mark_running
-- NOTIFY makes commits wait for each other, so a claim that is served at once sends none. Always one row, even if empty.
WITH changed AS (
    UPDATE claims SET
        state = 'running', running_at = greatest(claimed_at, $3), heartbeat_at = greatest(heartbeat_at, $3),
        minted = $4::jsonb
    WHERE id = $1 AND epoch = $2 AND state = 'claimed'
    RETURNING {claim}
)
SELECT changed.*,
    CASE WHEN queued_at IS NOT NULL THEN pg_notify('mooring_claim', id) END,
    CASE WHEN $5::boolean AND id IS NOT NULL THEN pg_notify('mooring_dispatch', pod_uid) END
FROM (VALUES (1)) AS always LEFT JOIN changed ON true

-- name: deliver_next
UPDATE claims SET delivered_epoch = epoch, heartbeat_at = greatest(heartbeat_at + interval '1 microsecond', $2)
WHERE id = (
    SELECT id FROM claims
    WHERE pod_uid = $1 AND ended_at IS NULL AND state = 'running' AND delivered_epoch IS DISTINCT FROM epoch
    ORDER BY epoch LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING {claim}

-- name: heartbeat
UPDATE claims SET heartbeat_at = greatest(heartbeat_at + interval '1 microsecond', $3)
WHERE id = $1 AND epoch = $2 AND state IN ('claimed', 'running')
    AND ($4::timestamptz IS NULL OR heartbeat_at = $4)
RETURNING {claim}

-- name: end
-- Always one row, empty when nothing changed.
WITH changed AS (
    UPDATE claims SET state = $3, ended_at = $4, reason = $5, cause = $6, payload = NULL, minted = NULL,
        idempotency_key = CASE
            WHEN $6 = 'abandoned' OR (running_at IS NULL AND $6 IN ('not_started', 'wait_over')) THEN NULL
            ELSE idempotency_key END
    WHERE id = $1 AND epoch = $2 AND state IN ('queued', 'claimed', 'running')
    RETURNING {claim}
)
SELECT changed.*,
    CASE WHEN queued_at IS NOT NULL OR cause <> 'released' THEN pg_notify('mooring_claim', id) END
FROM (VALUES (1)) AS always LEFT JOIN changed ON true

-- name: expire
WITH changed AS (
    UPDATE claims SET state = 'expired', ended_at = $4, reason = $5, cause = $6, payload = NULL, minted = NULL,
        idempotency_key = CASE WHEN $6 = 'abandoned' THEN NULL ELSE idempotency_key END
    WHERE id = $1 AND epoch = $2 AND state IN ('queued', 'claimed', 'running')
        AND heartbeat_at IS NOT DISTINCT FROM $3::timestamptz
    RETURNING {claim}
)
SELECT {claim}, pg_notify('mooring_claim', id) FROM changed

-- name: attend
-- In the order of ids: two replicas that write signs of the same claims do not wait for each other in a circle.
INSERT INTO attendance (claim, seen_at)
SELECT id, $2 FROM claims WHERE id = ANY($1::text[]) AND state = 'queued' ORDER BY id
ON CONFLICT (claim) DO UPDATE
    SET seen_at = greatest(attendance.seen_at + interval '1 microsecond', excluded.seen_at)

-- name: waiting
SELECT id AS claim, epoch, seen_at FROM claims LEFT JOIN attendance ON claim = id
WHERE {queued} AND NOT detached AND running_at IS NULL
ORDER BY ticket

-- name: abandon
WITH changed AS (
    UPDATE claims SET state = 'expired', ended_at = $4, reason = $5, cause = 'abandoned', payload = NULL, minted = NULL,
        idempotency_key = NULL
    WHERE id = $1 AND epoch = $2 AND state = 'queued' AND NOT detached AND running_at IS NULL
        AND (SELECT seen_at FROM attendance WHERE claim = $1) IS NOT DISTINCT FROM $3::timestamptz
    RETURNING {claim}
)
SELECT {claim}, pg_notify('mooring_claim', id) FROM changed

-- name: expire_waiting
WITH changed AS (
    UPDATE claims SET state = 'expired', ended_at = $1, reason = $3, cause = 'wait_over', payload = NULL, minted = NULL,
        idempotency_key = CASE WHEN running_at IS NOT NULL THEN idempotency_key END
    WHERE id IN (
        SELECT id FROM claims WHERE {queued} AND wait_until <= $1
        ORDER BY ticket LIMIT $2
        FOR UPDATE SKIP LOCKED
    )
    RETURNING {claim}
)
SELECT {claim}, pg_notify('mooring_claim', id) FROM changed ORDER BY ticket

-- name: requeue
WITH changed AS (
    UPDATE claims SET
        state = 'queued', previous_epoch = epoch, epoch = nextval('claim_epochs'), pod_name = NULL, pod_uid = NULL,
        slot = NULL, address = '', protected_until = NULL, queued_at = $3, claimed_at = NULL, heartbeat_at = NULL,
        rebinds = rebinds + 1, reason = $4, wait_until = $5, cause = $6, minted = NULL
    WHERE id = $1 AND epoch = $2 AND (state = 'claimed' OR (state = 'running' AND retryable))
    RETURNING {claim}
)
SELECT {claim}, pg_notify('mooring_queue', namespace || '/' || pool), pg_notify('mooring_claim', id) FROM changed

-- name: get
SELECT {claim} FROM claims WHERE id = $1

-- name: find_by_prefix
-- For people who shorten an id. No index serves it: one more would cost every claim, and such a read is rare.
SELECT {claim} FROM claims WHERE starts_with(id, $1) ORDER BY ticket DESC LIMIT $2

-- name: find_by_key
SELECT {claim} FROM claims WHERE namespace = $1 AND pool = $2 AND idempotency_key = $3

-- name: find_holder
SELECT {claim} FROM claims WHERE pod_uid = $1 AND slot = $2 AND ended_at IS NULL

-- fragment: present
(SELECT id AS incarnation, since, cause AS began_by, armed_at IS NOT NULL AS armed
 FROM incarnations ORDER BY ordinal DESC LIMIT 1) AS present

-- name: live
SELECT present.*, claims.*
FROM {present}
LEFT JOIN (
    SELECT {claim} FROM claims
    WHERE {live}
        AND ($1::text IS NULL OR namespace = $1) AND ($2::text IS NULL OR pool = $2)
) AS claims ON true
ORDER BY claims.ticket

-- name: holds
SELECT present.*, claims.*
FROM {present}
LEFT JOIN (
    SELECT pod_uid, id, epoch, owner, claimed_at, protected_until FROM claims WHERE {live}
) AS claims ON true

-- name: occupancy
SELECT present.*,
    (SELECT count(*) FROM claims WHERE namespace = $1 AND pool = $2 AND {queued}) AS queued,
    ARRAY(
        SELECT pod_uid FROM claims WHERE namespace = $1 AND pool = $2 AND {live}
    ) AS held
FROM {present}

-- name: live_by_pods
SELECT {claim} FROM claims
WHERE pod_uid = ANY($1::text[]) AND ended_at IS NULL
ORDER BY pod_uid, slot

-- name: expired_on
-- Without an index: this is asked only of pods whose stamp no live claim explains.
SELECT {claim} FROM claims WHERE pod_uid = $1 AND state = 'expired' ORDER BY ticket

-- name: queue
SELECT {claim} FROM claims WHERE namespace = $1 AND pool = $2 AND {queued} ORDER BY priority DESC, ticket

-- name: heads
SELECT {claim} FROM (
    SELECT DISTINCT ON (owner) {claim} FROM claims
    WHERE namespace = $1 AND pool = $2 AND {queued} AND (wait_until IS NULL OR wait_until > $3)
        AND id <> ALL($4::text[])
    ORDER BY owner, priority DESC, ticket
) AS heads
ORDER BY priority DESC, ticket

-- name: position
SELECT count(*) FROM claims AS mine
JOIN claims AS ahead ON ahead.namespace = mine.namespace AND ahead.pool = mine.pool AND ahead.ended_at IS NULL
    AND ahead.pod_uid IS NULL
    AND (ahead.priority > mine.priority OR (ahead.priority = mine.priority AND ahead.ticket <= mine.ticket))
WHERE mine.id = $1 AND mine.state = 'queued'

-- name: count_open
SELECT count(*) FROM claims
WHERE namespace = $1 AND pool = $2 AND owner = $3 AND ended_at IS NULL

-- name: served_by_owner
SELECT owner, count(*) AS claims FROM (
    SELECT owner FROM claims WHERE namespace = $1 AND pool = $2 AND {live}
    UNION ALL
    SELECT owner FROM claims WHERE namespace = $1 AND pool = $2 AND ended_at >= $3 AND claimed_at IS NOT NULL
) AS served GROUP BY owner

-- name: count_by_pool
SELECT namespace, pool,
    count(*) FILTER (WHERE state = 'queued') AS queued,
    count(*) FILTER (WHERE state = 'claimed') AS claimed,
    count(*) FILTER (WHERE state = 'running') AS running,
    min(queued_at) FILTER (WHERE state = 'queued') AS oldest_queued_at
FROM claims WHERE ended_at IS NULL
GROUP BY namespace, pool ORDER BY namespace, pool

-- fragment: matching
($1::text IS NULL OR namespace = $1) AND ($2::text IS NULL OR pool = $2) AND ($3::text IS NULL OR owner = $3)
    AND ($4::text[] IS NULL OR state = ANY($4)) AND ($5::text IS NULL OR pod_uid = $5)
    AND ($6::text[] IS NULL OR namespace = ANY($6))
    AND (NOT coalesce($4 <@ ARRAY['queued', 'claimed', 'running'], false) OR ended_at IS NULL)

-- name: list
SELECT {claim} FROM claims WHERE {matching} AND ($7::bigint IS NULL OR ticket < $7) ORDER BY ticket DESC LIMIT $8

-- name: count
SELECT count(*) FROM claims WHERE {matching}

-- name: count_ended
SELECT count(*) FROM (SELECT FROM claims WHERE ended_at < $1 LIMIT $2) AS old

-- name: prune
WITH forgotten AS (
    DELETE FROM claims WHERE id IN (
        SELECT id FROM claims WHERE ended_at < $1 ORDER BY ended_at, ticket LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    RETURNING id
), signs AS (
    DELETE FROM attendance WHERE claim IN (SELECT id FROM forgotten)
)
SELECT count(*) FROM forgotten
