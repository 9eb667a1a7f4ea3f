"""One disruption budget a pool, so that plain drains and cloud upgrades wait for working pods too.

Must not know: how pools are kept.
"""
