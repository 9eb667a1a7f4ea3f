"""Workloads that end: Jobs and CronJobs."""

PACKAGE = "io.k8s.api.batch.v1"

SHAPES = """
Job (kind)
  JobSpec: spec
  JobStatus: status

JobSpec
  core.PodTemplateSpec: template!
  int64: activeDeadlineSeconds
  int32: backoffLimit backoffLimitPerIndex completions maxFailedIndexes parallelism ttlSecondsAfterFinished
  string: completionMode managedBy podReplacementPolicy
  bool: manualSelector suspend
  PodFailurePolicy: podFailurePolicy
  meta.LabelSelector: selector
  SuccessPolicy: successPolicy

PodFailurePolicy
  [PodFailurePolicyRule]: rules!

PodFailurePolicyRule
  string: action!
  PodFailurePolicyOnExitCodesRequirement: onExitCodes
  [PodFailurePolicyOnPodConditionsPattern]: onPodConditions

PodFailurePolicyOnExitCodesRequirement
  string: containerName operator!
  [int32]: values! (set)

PodFailurePolicyOnPodConditionsPattern
  string: status type!

SuccessPolicy
  [SuccessPolicyRule]: rules!

SuccessPolicyRule
  int32: succeededCount
  string: succeededIndexes

JobStatus
  int32: active failed ready succeeded terminating
  string: completedIndexes failedIndexes
  time: completionTime startTime
  [JobCondition]: conditions (patch type)
  UncountedTerminatedPods: uncountedTerminatedPods

JobCondition
  string: message reason status! type!
  time: lastProbeTime lastTransitionTime

UncountedTerminatedPods
  [string]: failed succeeded (set)

CronJob (kind)
  CronJobSpec: spec!
  CronJobStatus: status

CronJobSpec
  string: concurrencyPolicy schedule! timeZone
  JobTemplateSpec: jobTemplate!
  int32: failedJobsHistoryLimit successfulJobsHistoryLimit
  int64: startingDeadlineSeconds
  bool: suspend

JobTemplateSpec
  meta.ObjectMeta: metadata
  JobSpec: spec

CronJobStatus
  [core.ObjectReference]: active
  time: lastScheduleTime lastSuccessfulTime
"""
