"""Talking to a Kubernetes API: transport, credentials, errors, narrow views, client, reflector.

Must not know: any operator that uses it, nor custom resources such as those of Mooring or Karpenter.
"""
