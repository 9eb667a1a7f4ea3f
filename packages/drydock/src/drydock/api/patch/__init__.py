"""JSON patch, JSON merge patch and strategic merge patch, as functions from document to document.

Must not know: requests, the store, field managers, or any kind by name.
"""
