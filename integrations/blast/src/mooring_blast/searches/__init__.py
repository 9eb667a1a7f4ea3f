"""Searches over warm shards: queries, plans, the steps that run in pods, hits. Must not know: pages."""
