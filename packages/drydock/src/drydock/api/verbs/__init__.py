"""What can be done to a resource: one module for each way of reading and writing.

Must not know: HTTP, and the rules of single kinds, which are in `strategies`.
"""
