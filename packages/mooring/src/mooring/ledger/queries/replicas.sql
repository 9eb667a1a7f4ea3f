-- fragment: replica
id, epoch, address, version, started_at, heartbeat_at, beats, left_at

-- name: register
INSERT INTO replicas (id, epoch, address, version, started_at, heartbeat_at, beats)
VALUES ($1, nextval('replica_epochs'), $2, $3, $4, $4, 1)
ON CONFLICT (id) DO UPDATE SET
    epoch = nextval('replica_epochs'), address = excluded.address, version = excluded.version,
    started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at, beats = replicas.beats + 1, left_at = NULL
RETURNING {replica}

-- name: heartbeat
UPDATE replicas SET heartbeat_at = greatest(heartbeat_at, $3), beats = beats + 1
WHERE id = $1 AND epoch = $2 AND left_at IS NULL
RETURNING true

-- name: leave
WITH gone AS (UPDATE replicas SET left_at = coalesce(left_at, $3) WHERE id = $1 AND epoch = $2 RETURNING id)
SELECT true, pg_notify('mooring_replica', id) FROM gone

-- name: depose
UPDATE replicas SET left_at = $4 WHERE id = $1 AND epoch = $2 AND beats = $3 AND left_at IS NULL RETURNING true

-- name: all
SELECT {replica} FROM replicas ORDER BY id

-- name: forget
WITH forgotten AS (DELETE FROM replicas WHERE heartbeat_at < $1 RETURNING id) SELECT count(*) FROM forgotten
