"""Decisions about the invariants between claims, workers and their protection.

Must not know: how remedies are carried out.
"""
