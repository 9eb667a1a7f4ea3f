"""Runs the jobs of GitHub Actions on warm Mooring workers."""
