"""WorkerPools: keeps the floor of each pool, checks the health of its workers, closes nodes on which starts fail.

Must not know: how claims are made, nor the other controllers.
"""
