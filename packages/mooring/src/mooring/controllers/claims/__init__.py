"""Claims: handing workers out, keeping claims alive, and taking workers back.

Must not know: how workers are made, nor who asks.
"""
