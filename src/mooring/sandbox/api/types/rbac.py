"""Who may do what: roles and their bindings."""

PACKAGE = "io.k8s.api.rbac.v1"

SHAPES = """
Role (kind)
  [PolicyRule]: rules

PolicyRule
  [string]: apiGroups nonResourceURLs resourceNames resources verbs!

RoleBinding (kind)
  RoleRef: roleRef!
  [Subject]: subjects

RoleRef (atomic)
  string: apiGroup kind! name!

Subject (atomic)
  string: apiGroup kind! name! namespace

ClusterRole (kind)
  AggregationRule: aggregationRule
  [PolicyRule]: rules

AggregationRule
  [meta.LabelSelector]: clusterRoleSelectors

ClusterRoleBinding (kind)
  RoleRef: roleRef!
  [Subject]: subjects
"""
