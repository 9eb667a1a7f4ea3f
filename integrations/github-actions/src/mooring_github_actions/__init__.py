"""GitHub Actions on Mooring: each job that is queued becomes a claim on a warm worker, which runs it as a JIT runner.

Nothing true lives here: jobs are GitHub's, claims are Mooring's. What this program remembers it can read again.
"""
