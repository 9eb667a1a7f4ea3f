"""Leases."""

PACKAGE = "io.k8s.api.coordination.v1"

SHAPES = """
Lease (kind) -- a claim on a role, for a time, by a holder
  LeaseSpec: spec -- what is wanted

LeaseSpec -- the holder, the time since which it holds the lease, and for how long
  microtime: acquireTime -- the time at which the holder got it
  string: holderIdentity -- who holds it
  int32: leaseDurationSeconds -- how long it lasts after the last renewal
  int32: leaseTransitions -- how often the holder has changed
  microtime: renewTime -- when it was last renewed
  string: preferredHolder strategy
"""
