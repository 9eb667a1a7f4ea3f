"""Decisions: pure functions from a frozen snapshot to a plan of actions with reasons.

Must not know: I/O, clocks, loggers, randomness; only the model.
"""
