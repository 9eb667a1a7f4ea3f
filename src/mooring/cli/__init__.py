"""The terminal: a client of the api, plus the commands that start things.

Must not know: how decisions are made. Imports of heavy rooms are lazy.
"""
