"""Talking to a Kubernetes API: transport, credentials, errors, narrow views, client, reflector.

Must not know: what Mooring wants; only the model.
"""
