"""Priority classes."""

PACKAGE = "io.k8s.api.scheduling.v1"

SHAPES = """
PriorityClass (kind) -- a name for a priority
  string: description preemptionPolicy
  bool: globalDefault
  int32: value
"""
