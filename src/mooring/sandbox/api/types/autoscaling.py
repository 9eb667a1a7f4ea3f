"""The scale of anything that has replicas."""

PACKAGE = "io.k8s.api.autoscaling.v1"

SHAPES = """
Scale (kind)
  ScaleSpec: spec
  ScaleStatus: status

ScaleSpec
  int32: replicas

ScaleStatus
  int32: replicas!
  string: selector
"""
