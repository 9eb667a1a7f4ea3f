"""Who may do what: roles and their bindings."""

PACKAGE = "io.k8s.api.rbac.v1"

SHAPES = """
Role (kind) -- what may be done in one namespace
  [PolicyRule]: rules

PolicyRule -- some verbs on some resources
  [string]: verbs! -- what may be done; * for all
  [string]: apiGroups -- groups of the resources; the core group is empty
  [string]: nonResourceURLs -- paths that are not resources
  [string]: resourceNames -- only objects with these names
  [string]: resources -- the resources; * for all

RoleBinding (kind) -- gives a role to users, groups or accounts, in one namespace
  RoleRef: roleRef!
  [Subject]: subjects

RoleRef (atomic) -- the role that is given
  string: apiGroup kind! name!

Subject (atomic) -- who it is given to
  string: apiGroup kind! name! namespace

ClusterRole (kind) -- what may be done, in a namespace or everywhere
  AggregationRule: aggregationRule
  [PolicyRule]: rules

AggregationRule -- which other roles this one is made of
  [meta.LabelSelector]: clusterRoleSelectors

ClusterRoleBinding (kind) -- gives a role to users, groups or accounts, everywhere
  RoleRef: roleRef!
  [Subject]: subjects
"""
