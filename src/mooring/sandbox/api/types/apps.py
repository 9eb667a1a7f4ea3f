"""Workloads that keep pods running: Deployments, ReplicaSets, DaemonSets, StatefulSets."""

PACKAGE = "io.k8s.api.apps.v1"

SHAPES = """
Deployment (kind)
  DeploymentSpec: spec
  DeploymentStatus: status

DeploymentSpec
  meta.LabelSelector: selector!
  core.PodTemplateSpec: template!
  int32: minReadySeconds progressDeadlineSeconds replicas revisionHistoryLimit
  bool: paused
  DeploymentStrategy: strategy (retain)

DeploymentStrategy
  RollingUpdateDeployment: rollingUpdate
  string: type

RollingUpdateDeployment
  int-or-string: maxSurge maxUnavailable

DeploymentStatus
  int32: availableReplicas collisionCount readyReplicas replicas terminatingReplicas unavailableReplicas
  int32: updatedReplicas
  [DeploymentCondition]: conditions (map type)
  int64: observedGeneration

DeploymentCondition
  string: message reason status! type!
  time: lastTransitionTime lastUpdateTime

ReplicaSet (kind)
  ReplicaSetSpec: spec
  ReplicaSetStatus: status

ReplicaSetSpec
  meta.LabelSelector: selector!
  int32: minReadySeconds replicas
  core.PodTemplateSpec: template

ReplicaSetStatus
  int32: availableReplicas fullyLabeledReplicas readyReplicas replicas! terminatingReplicas
  [ReplicaSetCondition]: conditions (map type)
  int64: observedGeneration

ReplicaSetCondition
  string: message reason status! type!
  time: lastTransitionTime

DaemonSet (kind)
  DaemonSetSpec: spec
  DaemonSetStatus: status

DaemonSetSpec
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

StatefulSet (kind)
  StatefulSetSpec: spec
  StatefulSetStatus: status

StatefulSetSpec
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

ControllerRevision (kind)
  int64: revision!
  raw: data
"""
