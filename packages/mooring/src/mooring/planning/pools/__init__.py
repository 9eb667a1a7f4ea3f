"""Decisions about pools: which workers to create and to retire, and the pool's status.

Must not know: how pods are made, read or deleted.
"""
