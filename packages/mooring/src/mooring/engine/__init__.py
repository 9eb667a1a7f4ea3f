"""Mechanisms that hold for every kind: controllers, informers, leadership, audit, guarded deletes, status writing.

Must not know: any kind of Mooring's, nor who asks.
"""
