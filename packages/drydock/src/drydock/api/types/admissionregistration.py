"""Policies of admission, in CEL."""

PACKAGE = "io.k8s.api.admissionregistration.v1"

SHAPES = """
ValidatingAdmissionPolicy (kind) -- which writes are refused
  ValidatingAdmissionPolicySpec: spec -- what is wanted
  ValidatingAdmissionPolicyStatus: status -- most recently observed status, written by the system

ValidatingAdmissionPolicySpec -- which writes are looked at, and what must hold for them
  string: failurePolicy -- what an expression that fails means: Fail or Ignore
  [MatchCondition]: matchConditions (map name) -- only writes for which all of these hold
  MatchResources: matchConstraints -- only writes of these resources
  [Variable]: variables (map name) -- expressions that others may use as variables.NAME
  [Validation]: validations -- what must hold
  [AuditAnnotation]: auditAnnotations
  ParamKind: paramKind

ParamKind (atomic) -- the kind of parameters
  string: apiVersion kind

MatchCondition -- a condition on the request
  string: name! expression!

Variable (atomic) -- a named expression
  string: name! expression!

Validation -- an expression that must be true
  string: expression! -- CEL
  string: message messageExpression -- what a refusal says
  string: reason -- of a refusal: Invalid, Forbidden, Unauthorized or RequestEntityTooLarge

AuditAnnotation -- text for the audit of the API server
  string: key! valueExpression!

MatchResources (atomic) -- which resources
  [NamedRuleWithOperations]: excludeResourceRules resourceRules
  string: matchPolicy -- Exact or Equivalent
  meta.LabelSelector: namespaceSelector objectSelector

NamedRuleWithOperations (atomic) -- operations on resources
  [string]: apiGroups apiVersions operations resourceNames resources
  string: scope

ValidatingAdmissionPolicyStatus -- what the type check found
  [meta.Condition]: conditions (map type; replace)
  int64: observedGeneration
  TypeChecking: typeChecking

TypeChecking -- warnings about types in the expressions of a policy
  [ExpressionWarning]: expressionWarnings

ExpressionWarning -- one warning
  string: fieldRef! warning!

ValidatingAdmissionPolicyBinding (kind) -- puts a policy into effect
  ValidatingAdmissionPolicyBindingSpec: spec -- what is wanted

ValidatingAdmissionPolicyBindingSpec -- which policy, where, and what a refusal does
  MatchResources: matchResources
  string: policyName -- the policy
  [string]: validationActions (set; replace) -- Deny, Warn, Audit
  ParamRef: paramRef

ParamRef (atomic) -- which parameters
  string: name namespace parameterNotFoundAction
  meta.LabelSelector: selector
"""
