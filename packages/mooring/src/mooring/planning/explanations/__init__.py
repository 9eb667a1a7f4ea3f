"""The "why" of pools, nodes, claims, warmups, invariants and pods: a reason with `since` and blockers.

Pure functions over data that is in memory already. The API, the pages and the terminal all use them.
"""
