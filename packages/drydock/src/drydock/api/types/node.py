"""Runtime classes."""

PACKAGE = "io.k8s.api.node.v1"

SHAPES = """
RuntimeClass (kind) -- a way to run containers
  string: handler!
  Overhead: overhead
  Scheduling: scheduling

Overhead
  {quantity}: podFixed

Scheduling
  {string}: nodeSelector (atomic)
  [core.Toleration]: tolerations
"""
