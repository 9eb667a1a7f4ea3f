"""Mooring keeps worker fleets on Kubernetes true to the cluster while it moves underneath them."""

__version__ = "0.2.0"
