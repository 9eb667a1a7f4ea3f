"""Services: what a ManagedService becomes, and why it serves or does not.

Must not know: clients, clocks; everything read from the cluster comes in as a snapshot.
"""
