"""Disruption budgets and evictions."""

PACKAGE = "io.k8s.api.policy.v1"

SHAPES = """
PodDisruptionBudget (kind)
  PodDisruptionBudgetSpec: spec
  PodDisruptionBudgetStatus: status

PodDisruptionBudgetSpec
  int-or-string: maxUnavailable minAvailable
  meta.LabelSelector: selector (replace)
  string: unhealthyPodEvictionPolicy

PodDisruptionBudgetStatus
  [meta.Condition]: conditions (map type)
  int32: currentHealthy desiredHealthy disruptionsAllowed expectedPods
  {time}: disruptedPods
  int64: observedGeneration

Eviction (kind)
  meta.DeleteOptions: deleteOptions
"""
