"""The bodies of commands that talk to a running Mooring over HTTP. Imported when the command runs.

Must not know: the server's rooms. Only `mooring.client`, `mooring.model` and `mooring.runbook`.
"""
