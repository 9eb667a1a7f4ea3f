"""Warmups: datasets kept warm on live nodes by Jobs, one a shard.

Must not know: pools, nor who reads the data.
"""
