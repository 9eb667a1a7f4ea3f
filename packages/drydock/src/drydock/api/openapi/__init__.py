"""The OpenAPI documents of the kinds being served.

Must not know: the store, or the objects in it.
"""
