-- fragment: incarnation
id, since, cause, armed_at IS NOT NULL AS armed

-- fragment: timeline
-- Not from the control file, which still has the old one for a while after a promotion.
substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)

-- fragment: database
(SELECT oid::bigint FROM pg_database WHERE datname = current_database())

-- fragment: issued
(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM claim_epochs)

-- name: incarnation
SELECT {incarnation} FROM incarnations ORDER BY ordinal DESC LIMIT 1

-- name: identify
SELECT {incarnation},
    system_identifier = (SELECT control.system_identifier::text FROM pg_control_system() AS control)
        AND database_oid = {database} AND table_oid = 'incarnations'::regclass::oid::bigint AS same_place,
    timeline = {timeline} AS same_timeline,
    {issued} AS epoch_mark, (SELECT secret FROM seal_keys), (SELECT since FROM seal_keys) AS secret_since
FROM incarnations ORDER BY ordinal DESC LIMIT 1

-- name: lock
SELECT pg_advisory_xact_lock(7021006511)

-- name: begin
INSERT INTO incarnations (id, since, cause, system_identifier, timeline, database_oid, table_oid, armed_at, armed_by)
SELECT $1, $2, $3, control.system_identifier::text, {timeline}, {database}, 'incarnations'::regclass::oid::bigint,
    $4::timestamptz, $5
FROM pg_control_system() AS control
RETURNING {incarnation}, pg_notify('mooring_incarnation', id)

-- name: succeeds
SELECT EXISTS (
    SELECT FROM incarnations AS later JOIN incarnations AS earlier ON earlier.ordinal < later.ordinal
    WHERE later.id = $1 AND earlier.id = $2
) AS found

-- name: issued
SELECT {issued} AS epoch

-- name: make_seal_key
INSERT INTO seal_keys (secret, since) VALUES (gen_random_uuid()::text || gen_random_uuid()::text, $1)
ON CONFLICT (single) DO NOTHING

-- name: raise_epochs
-- Far above what is known: some of the lost epochs may still be unseen, and others may draw one at this moment.
SELECT setval('claim_epochs', greatest($1, (SELECT last_value FROM claim_epochs)) + 1000000)

-- name: arm
WITH armed AS (
    UPDATE incarnations SET armed_at = $2, armed_by = $3
    WHERE armed_at IS NULL AND id = $1 AND ordinal = (SELECT max(ordinal) FROM incarnations)
    RETURNING id
)
SELECT pg_notify('mooring_incarnation', id) FROM armed

-- name: ping
SELECT 1

-- name: time
SELECT clock_timestamp() AS time

-- name: notify
SELECT pg_notify($1, $2)

-- name: encrypted
SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted
