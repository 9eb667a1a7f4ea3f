"""A request as understood by the server: its route, its options, its selectors and its decoded body.

Must not know: the store, access control, or what a verb does.
"""
