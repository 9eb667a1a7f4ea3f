"""Plays arrivals of claims through the planner of demand in virtual time, and compares it with fixed floors.

No cluster, no ledger and no event loop: only the planner, a queue and workers that take time to start.
"""
