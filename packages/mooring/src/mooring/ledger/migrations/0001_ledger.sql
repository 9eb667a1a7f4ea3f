-- Who holds what (claims), what was decided (audit), which rules are on (invariants), who runs the control plane
-- (replicas), and whether this is still the ledger it was (incarnations). Time is always written by Mooring.

CREATE TABLE incarnations (
    ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    since timestamptz NOT NULL,
    cause text NOT NULL CHECK (cause IN ('created', 'restored', 'failed_over', 'went_back')),
    -- Where the rows were when this incarnation began: a copy of them finds itself somewhere else.
    system_identifier text NOT NULL,
    timeline text NOT NULL,
    database_oid bigint NOT NULL,
    table_oid bigint NOT NULL,
    armed_at timestamptz,
    armed_by text NOT NULL DEFAULT ''
);

CREATE SEQUENCE replica_epochs AS bigint;

CREATE TABLE replicas (
    id text PRIMARY KEY,
    epoch bigint NOT NULL,
    address text NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    beats bigint NOT NULL,
    left_at timestamptz
) WITH (fillfactor = 50);

CREATE SEQUENCE claim_epochs AS bigint;
CREATE SEQUENCE claim_tickets AS bigint;

CREATE TABLE claims (
    id text PRIMARY KEY,
    namespace text NOT NULL,
    pool text NOT NULL,
    owner text NOT NULL,
    state text NOT NULL
        CHECK (state IN ('queued', 'claimed', 'running', 'released', 'expired', 'lost', 'failed')),
    priority integer NOT NULL,
    idempotency_key text,
    request_hash text NOT NULL,
    epoch bigint NOT NULL,
    previous_epoch bigint,
    pod_name text,
    pod_uid text,
    slot integer,
    address text NOT NULL,
    protected_until timestamptz,
    ticket bigint NOT NULL,
    retryable boolean NOT NULL,
    rebinds integer NOT NULL DEFAULT 0,
    payload jsonb,
    delivered_epoch bigint,
    ttl_seconds integer NOT NULL CHECK (ttl_seconds > 0),
    wait_until timestamptz,
    created_at timestamptz NOT NULL,
    queued_at timestamptz,
    claimed_at timestamptz,
    running_at timestamptz,
    heartbeat_at timestamptz,
    ended_at timestamptz,
    reason text NOT NULL DEFAULT '',
    CONSTRAINT claims_live_has_slot
        CHECK (state NOT IN ('claimed', 'running') OR (pod_uid IS NOT NULL AND slot IS NOT NULL)),
    CONSTRAINT claims_ended_has_end
        CHECK ((state IN ('queued', 'claimed', 'running')) = (ended_at IS NULL))
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX claims_live_slot ON claims (pod_uid, slot) WHERE state IN ('claimed', 'running');
CREATE UNIQUE INDEX claims_key ON claims (namespace, pool, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX claims_ticket ON claims (ticket);
CREATE INDEX claims_queue ON claims (namespace, pool, priority DESC, ticket) WHERE state = 'queued';
CREATE INDEX claims_open_owner ON claims (namespace, pool, owner) WHERE state IN ('queued', 'claimed', 'running');
CREATE INDEX claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE audit (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    at timestamptz NOT NULL,
    actor text NOT NULL,
    replica text NOT NULL,
    action text NOT NULL,
    kind text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    reason text NOT NULL,
    evidence jsonb NOT NULL,
    outcome text NOT NULL DEFAULT 'pending' CHECK (outcome IN ('pending', 'done', 'failed', 'skipped')),
    error text NOT NULL DEFAULT '',
    completed_at timestamptz
) WITH (fillfactor = 70);

CREATE INDEX audit_object ON audit (namespace, name, sequence);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_pending ON audit (sequence) WHERE outcome = 'pending';

CREATE TABLE invariants (
    id text PRIMARY KEY,
    paused boolean NOT NULL DEFAULT false,
    paused_by text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    paused_since timestamptz,
    checked_at timestamptz,
    broken integer NOT NULL DEFAULT 0,
    found bigint NOT NULL DEFAULT 0,
    healed bigint NOT NULL DEFAULT 0,
    heal_seconds double precision NOT NULL DEFAULT 0,
    last_heal_seconds double precision,
    evidence jsonb
) WITH (fillfactor = 50);
