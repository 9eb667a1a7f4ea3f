"""Namespaces and what configures the things in them: config, secrets, accounts, quotas, limits; and events."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Namespace (kind) -- a room for names
  NamespaceSpec: spec -- what is wanted
  NamespaceStatus: status -- most recently observed status, written by the system

NamespaceSpec -- what is decided about a namespace
  [string]: finalizers

NamespaceStatus -- what has become of a namespace
  [NamespaceCondition]: conditions (map type)
  string: phase

NamespaceCondition
  string: message reason status! type!
  time: lastTransitionTime

ConfigMap (kind) -- configuration, as named texts
  {bytes}: binaryData -- bytes
  {string}: data -- texts
  bool: immutable -- may never change

Secret (kind) -- passwords, tokens and keys, as named bytes
  {bytes}: data -- bytes, in base64
  bool: immutable -- may never change
  {string}: stringData -- texts to be added to data; never shown
  string: type -- what it holds

ServiceAccount (kind) -- who the processes of a pod are to the API
  bool: automountServiceAccountToken
  [LocalObjectReference]: imagePullSecrets
  [ObjectReference]: secrets (map name)

ResourceQuota (kind) -- how much a namespace may hold
  ResourceQuotaSpec: spec -- what is wanted
  ResourceQuotaStatus: status -- most recently observed status, written by the system

ResourceQuotaSpec -- the most of each thing
  {quantity}: hard
  ScopeSelector: scopeSelector
  [string]: scopes

ResourceQuotaStatus -- the most of each thing, and how much there is
  {quantity}: hard used

ScopeSelector (atomic)
  [ScopedResourceSelectorRequirement]: matchExpressions

ScopedResourceSelectorRequirement
  string: operator! scopeName!
  [string]: values

LimitRange (kind) -- bounds and defaults for what pods of a namespace ask for
  LimitRangeSpec: spec -- what is wanted

LimitRangeSpec
  [LimitRangeItem]: limits!

LimitRangeItem -- the bounds of one kind of thing
  string: type!
  {quantity}: default defaultRequest max maxLimitRequestRatio min

Event (kind) -- something that happened to an object
  ObjectReference: involvedObject! related
  string: action message reason reportingComponent reportingInstance type
  int32: count
  microtime: eventTime
  time: firstTimestamp lastTimestamp
  EventSeries: series
  EventSource: source

EventSeries -- how often it happened again
  int32: count
  microtime: lastObservedTime

EventSource -- who says so
  string: component host

ObjectReference (atomic) -- an object, by name
  string: apiVersion fieldPath kind name namespace resourceVersion uid

LocalObjectReference (atomic) -- an object in the same namespace
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
