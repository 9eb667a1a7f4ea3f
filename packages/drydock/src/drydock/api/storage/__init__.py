"""The objects: tables with one rising version, their history for watches and pages, and the log on disk.

Must not know: validation, access control, or HTTP.
"""
