"""May they: access reviews."""

PACKAGE = "io.k8s.api.authorization.v1"

SHAPES = """
SelfSubjectAccessReview (kind)
  SelfSubjectAccessReviewSpec: spec!
  SubjectAccessReviewStatus: status

SelfSubjectAccessReviewSpec
  NonResourceAttributes: nonResourceAttributes
  ResourceAttributes: resourceAttributes

NonResourceAttributes
  string: path verb

ResourceAttributes
  FieldSelectorAttributes: fieldSelector
  string: group name namespace resource subresource verb version
  LabelSelectorAttributes: labelSelector

FieldSelectorAttributes
  string: rawSelector
  [meta.FieldSelectorRequirement]: requirements

LabelSelectorAttributes
  string: rawSelector
  [meta.LabelSelectorRequirement]: requirements

SubjectAccessReviewStatus
  bool: allowed! denied
  string: evaluationError reason

SubjectAccessReview (kind)
  SubjectAccessReviewSpec: spec!
  SubjectAccessReviewStatus: status

SubjectAccessReviewSpec
  {[string]}: extra
  [string]: groups
  NonResourceAttributes: nonResourceAttributes
  ResourceAttributes: resourceAttributes
  string: uid user

LocalSubjectAccessReview (kind)
  SubjectAccessReviewSpec: spec!
  SubjectAccessReviewStatus: status

SelfSubjectRulesReview (kind)
  SelfSubjectRulesReviewSpec: spec!
  SubjectRulesReviewStatus: status

SelfSubjectRulesReviewSpec
  string: namespace

SubjectRulesReviewStatus
  bool: incomplete!
  [NonResourceRule]: nonResourceRules!
  [ResourceRule]: resourceRules!
  string: evaluationError

NonResourceRule
  [string]: nonResourceURLs verbs!

ResourceRule
  [string]: apiGroups resourceNames resources verbs!
"""
