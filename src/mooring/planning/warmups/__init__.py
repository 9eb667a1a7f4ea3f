"""Decisions about Warmups: where shards go, which Jobs are stale, when to stop trying. Pure: no clock, no I/O."""
