"""The scale of anything that has replicas."""

PACKAGE = "io.k8s.api.autoscaling.v1"

SHAPES = """
Scale (kind) -- the replicas of anything that has replicas
  ScaleSpec: spec -- what is wanted
  ScaleStatus: status -- most recently observed status, written by the system

ScaleSpec -- how many are wanted
  int32: replicas

ScaleStatus -- how many there are
  int32: replicas!
  string: selector
"""
