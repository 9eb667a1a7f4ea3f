"""Namespaces and what configures the things in them: config, secrets, accounts, quotas, limits; and events."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Namespace (kind)
  NamespaceSpec: spec
  NamespaceStatus: status

NamespaceSpec
  [string]: finalizers

NamespaceStatus
  [NamespaceCondition]: conditions (map type)
  string: phase

NamespaceCondition
  string: message reason status! type!
  time: lastTransitionTime

ConfigMap (kind)
  {bytes}: binaryData
  {string}: data
  bool: immutable

Secret (kind)
  {bytes}: data
  bool: immutable
  {string}: stringData
  string: type

ServiceAccount (kind)
  bool: automountServiceAccountToken
  [LocalObjectReference]: imagePullSecrets
  [ObjectReference]: secrets (map name)

ResourceQuota (kind)
  ResourceQuotaSpec: spec
  ResourceQuotaStatus: status

ResourceQuotaSpec
  {quantity}: hard
  ScopeSelector: scopeSelector
  [string]: scopes

ResourceQuotaStatus
  {quantity}: hard used

ScopeSelector (atomic)
  [ScopedResourceSelectorRequirement]: matchExpressions

ScopedResourceSelectorRequirement
  string: operator! scopeName!
  [string]: values

LimitRange (kind)
  LimitRangeSpec: spec

LimitRangeSpec
  [LimitRangeItem]: limits!

LimitRangeItem
  string: type!
  {quantity}: default defaultRequest max maxLimitRequestRatio min

Event (kind)
  ObjectReference: involvedObject! related
  string: action message reason reportingComponent reportingInstance type
  int32: count
  microtime: eventTime
  time: firstTimestamp lastTimestamp
  EventSeries: series
  EventSource: source

EventSeries
  int32: count
  microtime: lastObservedTime

EventSource
  string: component host

ObjectReference (atomic)
  string: apiVersion fieldPath kind name namespace resourceVersion uid

LocalObjectReference (atomic)
  string: name

TypedLocalObjectReference (atomic)
  string: apiGroup kind! name!

TypedObjectReference
  string: apiGroup kind! name! namespace

SecretReference (atomic)
  string: name namespace

TopologySelectorTerm (atomic)
  [TopologySelectorLabelRequirement]: matchLabelExpressions

TopologySelectorLabelRequirement
  string: key!
  [string]: values!
"""
