"""Decisions about the disruption budget of a pool.

Must not know: how budgets are written.
"""
