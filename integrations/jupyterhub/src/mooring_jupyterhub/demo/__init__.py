"""JupyterHub on the workers of a local `mooring up`: the pool, the hub with its proxy, and a client that runs cells.

Must not know: the spawner's inside; it uses what a user of the distribution uses.
"""
