-- Indexes of open claims without the column `state`: a claim that starts to run then changes no indexed column, so that
-- PostgreSQL writes its row alone (a HOT update) and no index. A claim is queued, live or ended by two columns: ended
-- claims have `ended_at`, queued ones have no pod. Code of the version before finds its rows without these indexes.
-- works with: 10

ALTER TABLE claims
    DROP CONSTRAINT claims_live_has_slot,
    DROP CONSTRAINT claims_ended_has_end,
    ADD CONSTRAINT claims_state_columns CHECK (
        CASE
            WHEN ended_at IS NOT NULL THEN state IN ('released', 'expired', 'lost', 'failed')
            WHEN pod_uid IS NULL THEN state = 'queued'
            ELSE state IN ('claimed', 'running') AND slot IS NOT NULL
        END
    );

DROP INDEX claims_live_slot, claims_ticket, claims_queue, claims_open_owner;

CREATE UNIQUE INDEX claims_live_slot ON claims (pod_uid, slot) WHERE ended_at IS NULL AND pod_uid IS NOT NULL;
CREATE INDEX claims_queue ON claims (namespace, pool, priority DESC, ticket) WHERE ended_at IS NULL AND pod_uid IS NULL;
CREATE INDEX claims_open_owner ON claims (namespace, pool, owner) WHERE ended_at IS NULL;
-- Tickets come from a sequence: a unique index would only read the index once more for every claim.
CREATE INDEX claims_ticket ON claims (ticket);
