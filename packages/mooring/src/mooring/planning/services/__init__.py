"""Decisions about services: what to apply for a ManagedService, and why it serves or does not.

Must not know: clients, clocks; everything read from the cluster comes in as a snapshot.
"""
