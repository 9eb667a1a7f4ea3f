"""May they: access reviews."""

PACKAGE = "io.k8s.api.authorization.v1"

SHAPES = """
SelfSubjectAccessReview (kind) -- asks whether one may do something
  SelfSubjectAccessReviewSpec: spec! -- what is wanted
  SubjectAccessReviewStatus: status -- most recently observed status, written by the system

SelfSubjectAccessReviewSpec
  NonResourceAttributes: nonResourceAttributes
  ResourceAttributes: resourceAttributes

NonResourceAttributes -- a verb on a path
  string: path verb

ResourceAttributes -- a verb on a resource
  FieldSelectorAttributes: fieldSelector
  string: group name namespace resource subresource verb version
  LabelSelectorAttributes: labelSelector

FieldSelectorAttributes
  string: rawSelector
  [meta.FieldSelectorRequirement]: requirements

LabelSelectorAttributes
  string: rawSelector
  [meta.LabelSelectorRequirement]: requirements

SubjectAccessReviewStatus -- yes or no, and why
  bool: allowed! denied
  string: evaluationError reason

SubjectAccessReview (kind) -- asks whether a user may do something
  SubjectAccessReviewSpec: spec! -- what is wanted
  SubjectAccessReviewStatus: status -- most recently observed status, written by the system

SubjectAccessReviewSpec
  {[string]}: extra
  [string]: groups
  NonResourceAttributes: nonResourceAttributes
  ResourceAttributes: resourceAttributes
  string: uid user

LocalSubjectAccessReview (kind) -- asks whether a user may do something in one namespace
  SubjectAccessReviewSpec: spec! -- what is wanted
  SubjectAccessReviewStatus: status -- most recently observed status, written by the system

SelfSubjectRulesReview (kind) -- asks what one may do in a namespace
  SelfSubjectRulesReviewSpec: spec! -- what is wanted
  SubjectRulesReviewStatus: status -- most recently observed status, written by the system

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
