"""The commands, a file for each part of the product. Bodies are imported when they run: `--help` stays quick."""

from mooring.cli.commands import claims, diagnosis, fleet, rules, running, services, submissions, warmups

__all__ = ["claims", "diagnosis", "fleet", "rules", "running", "services", "submissions", "warmups"]
