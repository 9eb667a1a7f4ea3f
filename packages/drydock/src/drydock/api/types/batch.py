"""Workloads that end: Jobs and CronJobs."""

PACKAGE = "io.k8s.api.batch.v1"

SHAPES = """
Job (kind) -- runs pods until enough of them have succeeded
  JobSpec: spec -- what is wanted
  JobStatus: status -- most recently observed status, written by the system

JobSpec -- how many must succeed, how many run at once, and when to give up
  core.PodTemplateSpec: template! -- the pods it runs; may not change
  int64: activeDeadlineSeconds -- how long it may take
  int32: backoffLimit -- how many failures before it fails
  int32: backoffLimitPerIndex -- failures of one index before that index fails
  string: completionMode -- NonIndexed or Indexed
  int32: completions -- how many must succeed
  bool: manualSelector -- the selector was chosen by hand
  int32: parallelism -- how many pods run at once
  PodFailurePolicy: podFailurePolicy -- what failed pods mean
  string: podReplacementPolicy -- when a failing pod is replaced
  meta.LabelSelector: selector -- which pods are its own; set by the server
  SuccessPolicy: successPolicy -- when it has succeeded early
  bool: suspend -- run no pods for now
  int32: ttlSecondsAfterFinished -- when it is deleted after its end
  string: managedBy
  int32: maxFailedIndexes

PodFailurePolicy -- what a failed pod means for its Job
  [PodFailurePolicyRule]: rules!

PodFailurePolicyRule -- which failures, and what to do
  string: action!
  PodFailurePolicyOnExitCodesRequirement: onExitCodes
  [PodFailurePolicyOnPodConditionsPattern]: onPodConditions

PodFailurePolicyOnExitCodesRequirement
  string: containerName operator!
  [int32]: values! (set; replace)

PodFailurePolicyOnPodConditionsPattern
  string: status type!

SuccessPolicy -- when a Job has succeeded before all its indexes have
  [SuccessPolicyRule]: rules!

SuccessPolicyRule
  int32: succeededCount
  string: succeededIndexes

JobStatus -- what has become of a Job
  int32: active -- pods that run
  string: completedIndexes -- indexes that succeeded, such as 0-3,5
  time: completionTime -- when it succeeded
  [JobCondition]: conditions (patch type) -- latest observations of the state: Complete, Failed, Suspended...
  int32: failed -- pods that failed
  string: failedIndexes -- indexes that failed
  int32: ready -- pods that are ready
  time: startTime -- when it started
  int32: succeeded -- pods that succeeded
  int32: terminating -- pods that are ending
  UncountedTerminatedPods: uncountedTerminatedPods -- pods that ended and are about to be counted

JobCondition -- an observed state of a Job, with its time and reason
  string: message reason status! type!
  time: lastProbeTime lastTransitionTime

UncountedTerminatedPods
  [string]: failed succeeded (set; replace)

CronJob (kind) -- makes Jobs at set times
  CronJobSpec: spec! -- what is wanted
  CronJobStatus: status -- most recently observed status, written by the system

CronJobSpec -- when, and what
  JobTemplateSpec: jobTemplate! -- the Jobs it makes
  string: schedule! -- when, in cron's five fields
  string: concurrencyPolicy -- what to do when the last one still runs: Allow, Forbid or Replace
  int64: startingDeadlineSeconds -- how late a Job may still be made
  bool: suspend -- make no Jobs for now
  string: timeZone -- whose clock
  int32: failedJobsHistoryLimit successfulJobsHistoryLimit

JobTemplateSpec -- the Jobs that a CronJob makes
  meta.ObjectMeta: metadata
  JobSpec: spec

CronJobStatus
  [core.ObjectReference]: active
  time: lastScheduleTime lastSuccessfulTime
"""
