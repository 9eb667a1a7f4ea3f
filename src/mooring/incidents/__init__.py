"""The seven outages, replayed with and without protection.

Must not know: anything special; a replay uses the app as a user does.
"""
