"""What all objects share: metadata, selectors, conditions, options and answers."""

PACKAGE = "io.k8s.apimachinery.pkg.apis.meta.v1"

SHAPES = """
DeleteOptions
  string: apiVersion kind propagationPolicy
  [string]: dryRun
  int64: gracePeriodSeconds
  bool: ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents
  Preconditions: preconditions

Preconditions
  string: resourceVersion uid

Status
  string: apiVersion kind message reason status
  int32: code
  StatusDetails: details
  ListMeta: metadata

StatusDetails
  [StatusCause]: causes
  string: group kind name uid
  int32: retryAfterSeconds

StatusCause
  string: field message reason

ListMeta
  string: continue resourceVersion selfLink
  int64: remainingItemCount
  ShardInfo: shardInfo

ShardInfo
  string: selector!

ObjectMeta
  {string}: annotations labels
  time: creationTimestamp deletionTimestamp
  int64: deletionGracePeriodSeconds generation
  [string]: finalizers (set)
  string: generateName name namespace resourceVersion selfLink uid
  [ManagedFieldsEntry]: managedFields
  [OwnerReference]: ownerReferences (map uid)

ManagedFieldsEntry
  string: apiVersion fieldsType manager operation subresource
  raw: fieldsV1
  time: time

OwnerReference (atomic)
  string: apiVersion! kind! name! uid!
  bool: blockOwnerDeletion controller

LabelSelectorRequirement
  string: key! operator!
  [string]: values

FieldSelectorRequirement
  string: key! operator!
  [string]: values

LabelSelector (atomic)
  [LabelSelectorRequirement]: matchExpressions
  {string}: matchLabels

Condition
  time: lastTransitionTime!
  string: message! reason! status! type!
  int64: observedGeneration
"""
