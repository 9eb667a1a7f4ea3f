"""Leases."""

PACKAGE = "io.k8s.api.coordination.v1"

SHAPES = """
Lease (kind)
  LeaseSpec: spec

LeaseSpec
  microtime: acquireTime renewTime
  string: holderIdentity preferredHolder strategy
  int32: leaseDurationSeconds leaseTransitions
"""
