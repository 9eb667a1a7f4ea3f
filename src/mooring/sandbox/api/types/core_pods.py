"""Pods: what they run, where they may run, and what became of them."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Pod (kind)
  PodSpec: spec
  PodStatus: status

PodTemplate (kind)
  PodTemplateSpec: template

PodTemplateSpec
  meta.ObjectMeta: metadata
  PodSpec: spec

PodSpec
  [Container]: containers! initContainers (map name)
  int64: activeDeadlineSeconds terminationGracePeriodSeconds
  Affinity: affinity
  bool: automountServiceAccountToken enableServiceLinks hostIPC hostNetwork hostPID hostUsers setHostnameAsFQDN
  bool: shareProcessNamespace
  PodDNSConfig: dnsConfig
  string: dnsPolicy hostname hostnameOverride nodeName preemptionPolicy priorityClassName restartPolicy
  string: runtimeClassName schedulerName serviceAccount serviceAccountName subdomain
  [EphemeralContainer]: ephemeralContainers (map name)
  [HostAlias]: hostAliases (map ip)
  [LocalObjectReference]: imagePullSecrets (map name)
  {string}: nodeSelector (atomic)
  PodOS: os
  {quantity}: overhead
  int32: priority
  [PodReadinessGate]: readinessGates
  [PodResourceClaim]: resourceClaims (map name; retain)
  ResourceRequirements: resources
  [PodSchedulingGate]: schedulingGates (map name)
  PodSchedulingGroup: schedulingGroup
  PodSecurityContext: securityContext
  [Toleration]: tolerations
  [TopologySpreadConstraint]: topologySpreadConstraints (map topologyKey,whenUnsatisfiable)
  [Volume]: volumes (map name; retain)

PodStatus
  {quantity}: allocatedResources
  [PodCondition]: conditions (map type)
  [ContainerStatus]: containerStatuses ephemeralContainerStatuses initContainerStatuses
  PodExtendedResourceClaimStatus: extendedResourceClaimStatus
  string: hostIP message nominatedNodeName phase podIP qosClass reason resize
  [HostIP]: hostIPs (patch ip)
  [NodeAllocatableResourceClaimStatus]: nodeAllocatableResourceClaimStatuses
  int64: observedGeneration
  [PodIP]: podIPs (map ip)
  [PodResourceClaimStatus]: resourceClaimStatuses (map name; retain)
  ResourceRequirements: resources
  time: startTime

PodCondition
  string: message reason status! type!
  time: lastProbeTime lastTransitionTime
  int64: observedGeneration

PodIP
  string: ip!

HostIP
  string: ip!

PodSecurityContext
  AppArmorProfile: appArmorProfile
  int64: fsGroup runAsGroup runAsUser
  string: fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy
  bool: runAsNonRoot
  SELinuxOptions: seLinuxOptions
  SeccompProfile: seccompProfile
  [int64]: supplementalGroups
  [Sysctl]: sysctls
  WindowsSecurityContextOptions: windowsOptions

Sysctl
  string: name! value!

PodDNSConfig
  [string]: nameservers searches
  [PodDNSConfigOption]: options

PodDNSConfigOption
  string: name value

PodOS
  string: name!

PodReadinessGate
  string: conditionType!

PodSchedulingGate
  string: name!

PodSchedulingGroup
  string: podGroupName

PodResourceClaim
  string: name! resourceClaimName resourceClaimTemplateName

PodResourceClaimStatus
  string: name! resourceClaimName

PodExtendedResourceClaimStatus
  [ContainerExtendedResourceRequest]: requestMappings!
  string: resourceClaimName!

ContainerExtendedResourceRequest
  string: containerName! requestName! resourceName!

NodeAllocatableResourceClaimStatus
  string: resourceClaimName!
  {quantity}: resources!
  [string]: containers (set)

HostAlias
  string: ip!
  [string]: hostnames

Toleration
  string: effect key operator value
  int64: tolerationSeconds

TopologySpreadConstraint
  int32: maxSkew! minDomains
  string: nodeAffinityPolicy nodeTaintsPolicy topologyKey! whenUnsatisfiable!
  meta.LabelSelector: labelSelector
  [string]: matchLabelKeys

Affinity
  NodeAffinity: nodeAffinity
  PodAffinity: podAffinity
  PodAntiAffinity: podAntiAffinity

NodeAffinity
  [PreferredSchedulingTerm]: preferredDuringSchedulingIgnoredDuringExecution
  NodeSelector: requiredDuringSchedulingIgnoredDuringExecution

NodeSelector (atomic)
  [NodeSelectorTerm]: nodeSelectorTerms!

NodeSelectorTerm (atomic)
  [NodeSelectorRequirement]: matchExpressions matchFields

NodeSelectorRequirement
  string: key! operator!
  [string]: values

PreferredSchedulingTerm
  NodeSelectorTerm: preference!
  int32: weight!

PodAffinity
  [WeightedPodAffinityTerm]: preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm]: requiredDuringSchedulingIgnoredDuringExecution

PodAntiAffinity
  [WeightedPodAffinityTerm]: preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm]: requiredDuringSchedulingIgnoredDuringExecution

PodAffinityTerm
  string: topologyKey!
  meta.LabelSelector: labelSelector namespaceSelector
  [string]: matchLabelKeys mismatchLabelKeys namespaces

WeightedPodAffinityTerm
  PodAffinityTerm: podAffinityTerm!
  int32: weight!

Binding (kind)
  ObjectReference: target!

ReplicationController (kind)
  ReplicationControllerSpec: spec
  ReplicationControllerStatus: status

ReplicationControllerSpec
  int32: minReadySeconds replicas
  {string}: selector (atomic)
  PodTemplateSpec: template

ReplicationControllerStatus
  int32: availableReplicas fullyLabeledReplicas readyReplicas replicas!
  [ReplicationControllerCondition]: conditions (map type)
  int64: observedGeneration

ReplicationControllerCondition
  string: message reason status! type!
  time: lastTransitionTime
"""
