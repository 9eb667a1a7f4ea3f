"""Submissions: batch work as Jobs, admitted one after another, each made exactly once.

Must not know: pools, nor who submits.
"""
