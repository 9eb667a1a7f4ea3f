"""The invariants between claims, workers and their protection: checked periodically, healed within the rails.

Must not know: how claims are made, nor how workers are.
"""
