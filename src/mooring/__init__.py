"""Mooring keeps worker fleets on Kubernetes true to the cluster while it moves underneath them."""

__version__ = "0.1.0"
