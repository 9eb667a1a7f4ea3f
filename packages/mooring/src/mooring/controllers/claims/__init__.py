"""Claims: handing workers out, keeping claims alive, and taking workers back.

A claim is a row of the ledger and not an object of the cluster, and is served when somebody asks: there is nothing to
watch, to plan in passes or to create here. `controllers/invariants/` repairs what a crash leaves.

Must not know: how workers are made, nor who asks.
"""
