"""BLAST searches over shards that Mooring keeps warm, from databases in an object store."""
