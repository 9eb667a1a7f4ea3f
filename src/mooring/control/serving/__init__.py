"""Managed services: watched, applied, asked for their documents, and told of.

Must not know: who asks; why a service fails is decided in planning/services.
"""
