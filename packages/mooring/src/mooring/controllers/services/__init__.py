"""ManagedServices: a Deployment, a Service and a budget each, and whether it really serves.

Must not know: pools, nor who calls the service.
"""
