"""Submissions: what is asked for is checked, admitted under the namespace's lease, and made into Jobs, once.

Must not know: who asks (HTTP, terminal, kubectl).
"""
