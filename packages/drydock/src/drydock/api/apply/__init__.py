"""Server-side apply: who manages which field, and how an applied configuration joins the live object.

Must not know: requests, the store, or any kind by name.
"""
