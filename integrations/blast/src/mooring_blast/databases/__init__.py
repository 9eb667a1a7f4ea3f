"""BLAST databases in shards: manifests, upload, fetch with resume, verification. Must not know: searches."""
