-- Signs of life. The table and its column have the names of migration 6: words, speaker.

-- name: record
INSERT INTO words (speaker, count, heard_at) SELECT unnest($1::text[]), 1, $2
ON CONFLICT (speaker) DO UPDATE SET
    count = words.count + 1, heard_at = greatest(words.heard_at, excluded.heard_at)

-- name: counts
SELECT speaker, count FROM words WHERE speaker = ANY($1::text[])

-- name: forget
WITH forgotten AS (
    DELETE FROM words WHERE speaker IN (
        SELECT speaker FROM words WHERE heard_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    RETURNING speaker
)
SELECT count(*) FROM forgotten
