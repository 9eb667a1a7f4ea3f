"""Claims: from a wish to a worker that is stamped, minted and running, and back again.

Must not know: HTTP. The order of section "the way of one claim" in ARCHITECTURE.md is the order of `handover.py`.
"""
