"""The data types of Mooring: worker, claim, pool and the other kinds.

Must not know: I/O, clocks, any other package of mooring.
"""
