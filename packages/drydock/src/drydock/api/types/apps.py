"""Workloads that keep pods running: Deployments, ReplicaSets, DaemonSets, StatefulSets."""

PACKAGE = "io.k8s.api.apps.v1"

SHAPES = """
Deployment (kind) -- keeps pods running, and replaces them step by step when their template changes
  DeploymentSpec: spec -- what is wanted
  DeploymentStatus: status -- most recently observed status, written by the system

DeploymentSpec -- how many pods, which ones, and how they are replaced
  meta.LabelSelector: selector! -- which pods are its own; may not change
  core.PodTemplateSpec: template! -- the pods it makes
  int32: minReadySeconds -- how long a pod must be ready to count as available
  bool: paused -- make no changes for now
  int32: progressDeadlineSeconds -- seconds without progress after which the rollout is reported as failed
  int32: replicas -- how many pods to keep
  int32: revisionHistoryLimit -- how many old ReplicaSets to keep
  DeploymentStrategy: strategy (retain) -- how old pods make way for new ones

DeploymentStrategy -- how old pods make way for new ones
  RollingUpdateDeployment: rollingUpdate
  string: type

RollingUpdateDeployment -- how many may be missing, and how many too many, on the way
  int-or-string: maxSurge maxUnavailable

DeploymentStatus -- what has become of a Deployment
  int32: availableReplicas -- pods that have been ready for long enough
  [DeploymentCondition]: conditions (map type) -- latest observations of the state: Available, Progressing
  int64: observedGeneration -- the generation this status is about
  int32: readyReplicas -- pods that are ready
  int32: replicas -- pods there are
  int32: unavailableReplicas -- pods that are still missing
  int32: updatedReplicas -- pods of the current template
  int32: collisionCount terminatingReplicas

DeploymentCondition
  string: message reason status! type!
  time: lastTransitionTime lastUpdateTime

ReplicaSet (kind) -- keeps a number of pods of one template running
  ReplicaSetSpec: spec -- what is wanted
  ReplicaSetStatus: status -- most recently observed status, written by the system

ReplicaSetSpec -- how many pods, and which ones
  meta.LabelSelector: selector! -- which pods are its own; may not change
  int32: minReadySeconds -- how long a pod must be ready to count as available
  int32: replicas -- how many pods to keep
  core.PodTemplateSpec: template -- the pods it makes

ReplicaSetStatus -- what has become of a ReplicaSet
  int32: availableReplicas fullyLabeledReplicas readyReplicas replicas! terminatingReplicas
  [ReplicaSetCondition]: conditions (map type)
  int64: observedGeneration

ReplicaSetCondition
  string: message reason status! type!
  time: lastTransitionTime

DaemonSet (kind) -- runs a pod on every node, or on some
  DaemonSetSpec: spec -- what is wanted
  DaemonSetStatus: status -- most recently observed status, written by the system

DaemonSetSpec -- which pods, and how they are replaced
  meta.LabelSelector: selector!
  core.PodTemplateSpec: template!
  int32: minReadySeconds revisionHistoryLimit
  DaemonSetUpdateStrategy: updateStrategy

DaemonSetUpdateStrategy
  RollingUpdateDaemonSet: rollingUpdate
  string: type

RollingUpdateDaemonSet
  int-or-string: maxSurge maxUnavailable

DaemonSetStatus
  int32: collisionCount currentNumberScheduled! desiredNumberScheduled! numberAvailable numberMisscheduled!
  int32: numberReady! numberUnavailable updatedNumberScheduled
  [DaemonSetCondition]: conditions (map type)
  int64: observedGeneration

DaemonSetCondition
  string: message reason status! type!
  time: lastTransitionTime

StatefulSet (kind) -- keeps pods that have names and storage of their own
  StatefulSetSpec: spec -- what is wanted
  StatefulSetStatus: status -- most recently observed status, written by the system

StatefulSetSpec -- how many pods, with which storage, and how they are replaced
  meta.LabelSelector: selector!
  core.PodTemplateSpec: template!
  int32: minReadySeconds replicas revisionHistoryLimit
  StatefulSetOrdinals: ordinals
  StatefulSetPersistentVolumeClaimRetentionPolicy: persistentVolumeClaimRetentionPolicy
  string: podManagementPolicy serviceName
  StatefulSetUpdateStrategy: updateStrategy
  [core.PersistentVolumeClaim]: volumeClaimTemplates

StatefulSetOrdinals
  int32: start

StatefulSetPersistentVolumeClaimRetentionPolicy
  string: whenDeleted whenScaled

StatefulSetUpdateStrategy
  RollingUpdateStatefulSetStrategy: rollingUpdate
  string: type

RollingUpdateStatefulSetStrategy
  int-or-string: maxUnavailable
  int32: partition

StatefulSetStatus
  int32: availableReplicas collisionCount currentReplicas readyReplicas replicas! updatedReplicas
  [StatefulSetCondition]: conditions (map type)
  string: currentRevision updateRevision
  int64: observedGeneration

StatefulSetCondition
  string: message reason status! type!
  time: lastTransitionTime

ControllerRevision (kind) -- a template as it once was
  int64: revision!
  raw: data
"""
