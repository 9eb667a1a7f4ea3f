"""Leases."""

PACKAGE = "io.k8s.api.coordination.v1"

SHAPES = """
Lease (kind) -- a claim on a role, for a time, by a holder
  LeaseSpec: spec -- what is wanted

LeaseSpec -- who holds it, since when and for how long
  microtime: acquireTime -- since when it is held
  string: holderIdentity -- who holds it
  int32: leaseDurationSeconds -- how long it lasts after the last renewal
  int32: leaseTransitions -- how often the holder has changed
  microtime: renewTime -- when it was last renewed
  string: preferredHolder strategy
"""
