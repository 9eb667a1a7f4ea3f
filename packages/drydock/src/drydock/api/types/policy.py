"""Disruption budgets and evictions."""

PACKAGE = "io.k8s.api.policy.v1"

SHAPES = """
PodDisruptionBudget (kind) -- how many of some pods may be taken away at once
  PodDisruptionBudgetSpec: spec -- what is wanted
  PodDisruptionBudgetStatus: status -- most recently observed status, written by the system

PodDisruptionBudgetSpec -- which pods, and how many of them must stay
  int-or-string: maxUnavailable -- how many may be gone, as a number or a share
  int-or-string: minAvailable -- how many must stay, as a number or a share
  meta.LabelSelector: selector (replace) -- which pods
  string: unhealthyPodEvictionPolicy -- may pods that are not ready go: IfHealthyBudget or AlwaysAllow

PodDisruptionBudgetStatus -- how many may be taken away now
  int32: currentHealthy -- how many are healthy
  int32: desiredHealthy -- how many must stay healthy
  {time}: disruptedPods -- pods that are being evicted, with the time of each eviction
  int32: disruptionsAllowed -- how many may be evicted now
  int32: expectedPods -- how many there should be
  [meta.Condition]: conditions (map type)
  int64: observedGeneration

Eviction (kind) -- asks a pod to leave, if its budgets allow
  meta.DeleteOptions: deleteOptions -- how the pod is deleted
"""
