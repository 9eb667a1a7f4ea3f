"""What all objects share: metadata, selectors, conditions, options and answers."""

PACKAGE = "io.k8s.apimachinery.pkg.apis.meta.v1"

SHAPES = """
DeleteOptions -- how to delete
  [string]: dryRun -- All: go through every step but storing
  int64: gracePeriodSeconds -- how long its deletion may take
  Preconditions: preconditions -- what must still be so
  string: propagationPolicy -- what becomes of dependents: Orphan, Background or Foreground
  string: apiVersion kind
  bool: ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents

Preconditions -- what must still be so for the deletion to happen
  string: resourceVersion uid

Status -- how a request ended
  string: apiVersion kind message reason status
  int32: code
  StatusDetails: details
  ListMeta: metadata

StatusDetails -- what a status is about
  [StatusCause]: causes
  string: group kind name uid
  int32: retryAfterSeconds

StatusCause -- one reason for a refusal
  string: field message reason

ListMeta -- what every list has: its version, and where the next page starts
  string: continue resourceVersion selfLink
  int64: remainingItemCount
  ShardInfo: shardInfo

ShardInfo
  string: selector!

ObjectMeta -- what every object has: its name, its labels, who owns it
  {string}: annotations -- what else is noted about it
  time: creationTimestamp -- when it was made
  int64: deletionGracePeriodSeconds -- how long its deletion may take
  time: deletionTimestamp -- when its deletion began, or is due
  [string]: finalizers (set) -- who must agree before it goes
  string: generateName -- the start of a name that the server completes
  int64: generation -- rises when what is wanted changes
  {string}: labels -- what it is found by
  [ManagedFieldsEntry]: managedFields -- who set which fields
  string: name -- unique in its namespace
  string: namespace -- the room its name is in
  [OwnerReference]: ownerReferences (map uid) -- whom it belongs to, and goes with
  string: resourceVersion -- changes with every write
  string: uid -- unlike any other object's, also of those that are gone
  string: selfLink

ManagedFieldsEntry -- which fields one manager set
  string: apiVersion fieldsType manager operation subresource
  raw: fieldsV1
  time: time

OwnerReference (atomic) -- an object that this one belongs to, and goes with
  string: apiVersion! kind! name! uid!
  bool: blockOwnerDeletion -- the owner waits for this one when it is deleted with its dependents
  bool: controller -- is the owner the one in charge

LabelSelectorRequirement -- a key, an operator and values that labels are held against
  string: key! operator!
  [string]: values

FieldSelectorRequirement
  string: key! operator!
  [string]: values

LabelSelector (atomic) -- objects whose labels match; all of its terms must hold
  [LabelSelectorRequirement]: matchExpressions -- further terms on labels
  {string}: matchLabels -- labels that must be there with these values

Condition -- an observed state, with its time and reason
  time: lastTransitionTime! -- when its status last changed
  string: message! -- why, for people
  string: reason! -- why, in a word
  string: status! -- True, False or Unknown
  string: type! -- what
  int64: observedGeneration -- the generation this is about
"""
