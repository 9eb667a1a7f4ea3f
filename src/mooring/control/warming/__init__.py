"""Warmups: watches datasets, Jobs and their pods, and keeps every shard on a live node."""
