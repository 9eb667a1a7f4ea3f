"""How many idle workers a pool with `spec.demand` needs: what is learnt of its claims and starts, and the sum.

Pure, as all of `planning`. It knows no pods: the plan of pools turns a floor into workers.
"""
