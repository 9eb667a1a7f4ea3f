"""The words of Mooring: what a worker, a claim, a pool is.

Must not know: I/O, clocks, any other room.
"""
