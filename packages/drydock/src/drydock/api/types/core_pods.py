"""Pods: what they run, where they may run, and what became of them."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Pod (kind) -- containers that run together on one node
  PodSpec: spec -- what is wanted
  PodStatus: status -- most recently observed status, written by the system

PodTemplate (kind) -- a template of pods, kept for later
  PodTemplateSpec: template

PodTemplateSpec -- the pods that a workload makes
  meta.ObjectMeta: metadata
  PodSpec: spec

PodSpec -- what a pod runs, and where it may run
  [Container]: containers! (map name) -- the programs of the pod; at least one
  int64: activeDeadlineSeconds -- how long it may run before it is ended
  Affinity: affinity -- which nodes it likes, and which pods it wants near or far
  bool: automountServiceAccountToken -- mount a token of its account
  string: dnsPolicy -- where names are looked up
  bool: enableServiceLinks -- put services into its environment
  [EphemeralContainer]: ephemeralContainers (map name) -- containers added to look into a running pod
  bool: hostNetwork -- use the node's network
  string: hostname -- its own name
  [LocalObjectReference]: imagePullSecrets (map name) -- credentials for its images
  [Container]: initContainers (map name) -- run one after another before the rest; those that always restart stay
  string: nodeName -- the node it is bound to; set by the scheduler
  {string}: nodeSelector (atomic) -- labels that a node must have
  {quantity}: overhead -- what running it costs on top of its containers
  string: preemptionPolicy -- may it push others out: PreemptLowerPriority or Never
  int32: priority -- its priority; set from its class
  string: priorityClassName -- names its priority
  [PodReadinessGate]: readinessGates -- further conditions before it counts as ready
  string: restartPolicy -- Always, OnFailure or Never
  string: runtimeClassName -- how its containers are run
  string: schedulerName -- who finds a node for it
  [PodSchedulingGate]: schedulingGates (map name) -- while there are any, it is not scheduled
  PodSecurityContext: securityContext -- what holds for all its processes
  string: serviceAccount -- an old name of serviceAccountName
  string: serviceAccountName -- the account it acts as
  bool: shareProcessNamespace -- its containers see each other's processes
  string: subdomain -- the domain its name is in
  int64: terminationGracePeriodSeconds -- how long its processes may take to end before they are killed
  [Toleration]: tolerations -- taints it can live with
  [TopologySpreadConstraint]: topologySpreadConstraints (map topologyKey,whenUnsatisfiable) -- how it is spread
  [Volume]: volumes (map name; retain) -- directories that containers may mount
  PodDNSConfig: dnsConfig
  [HostAlias]: hostAliases (map ip)
  bool: hostIPC hostPID hostUsers setHostnameAsFQDN
  string: hostnameOverride
  PodOS: os
  [PodResourceClaim]: resourceClaims (map name; retain)
  ResourceRequirements: resources
  PodSchedulingGroup: schedulingGroup

PodStatus -- current state of a pod, reported by its kubelet
  [PodCondition]: conditions (map type) -- latest observations of the state: PodScheduled, ContainersReady, Ready...
  [ContainerStatus]: containerStatuses -- what has become of its containers
  string: hostIP -- its node's address
  [ContainerStatus]: initContainerStatuses -- what has become of its init containers
  string: message -- why it is like this, for people
  string: nominatedNodeName -- the node where room is being made for it
  int64: observedGeneration -- the generation of the pod this status is about
  string: phase -- Pending, Running, Succeeded, Failed or Unknown
  string: podIP -- its address
  [PodIP]: podIPs (map ip) -- its addresses
  string: qosClass -- how early it goes when memory is short: Guaranteed, Burstable or BestEffort
  string: reason -- why it is like this, in a word
  time: startTime -- when its kubelet took it on
  {quantity}: allocatedResources
  [ContainerStatus]: ephemeralContainerStatuses
  PodExtendedResourceClaimStatus: extendedResourceClaimStatus
  [HostIP]: hostIPs (patch ip)
  [NodeAllocatableResourceClaimStatus]: nodeAllocatableResourceClaimStatuses
  string: resize
  [PodResourceClaimStatus]: resourceClaimStatuses (map name; retain)
  ResourceRequirements: resources

PodCondition -- an observed state of a pod, with its time and reason
  string: message reason status! type!
  time: lastProbeTime lastTransitionTime
  int64: observedGeneration

PodIP -- an address of the pod
  string: ip!

HostIP -- an address of the pod's node
  string: ip!

PodSecurityContext -- who the pod's processes are, and what the kernel lets them do
  AppArmorProfile: appArmorProfile
  int64: fsGroup runAsGroup runAsUser
  string: fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy
  bool: runAsNonRoot
  SELinuxOptions: seLinuxOptions
  SeccompProfile: seccompProfile
  [int64]: supplementalGroups
  [Sysctl]: sysctls
  WindowsSecurityContextOptions: windowsOptions

Sysctl -- a kernel parameter to set
  string: name! value!

PodDNSConfig -- additions to the name lookup that dnsPolicy gives
  [string]: nameservers searches
  [PodDNSConfigOption]: options

PodDNSConfigOption -- an option of the resolver
  string: name value

PodOS -- the operating system a pod is made for
  string: name!

PodReadinessGate -- a further condition before the pod counts as ready
  string: conditionType!

PodSchedulingGate -- keeps the scheduler from looking at the pod until it is taken away
  string: name!

PodSchedulingGroup
  string: podGroupName

PodResourceClaim -- a claim on devices that containers of the pod may name
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
  [string]: containers (set; replace)

HostAlias -- a line of the pod's hosts file
  string: ip!
  [string]: hostnames

Toleration -- lets a pod be on nodes with a matching taint
  string: effect -- the taint's effect; empty for all
  string: key -- the taint's key; empty for all
  string: operator -- Exists or Equal
  int64: tolerationSeconds -- how long a NoExecute taint is tolerated
  string: value -- the taint's value

TopologySpreadConstraint -- how evenly pods are spread over zones, nodes and the like
  int32: maxSkew! minDomains
  string: nodeAffinityPolicy nodeTaintsPolicy topologyKey! whenUnsatisfiable!
  meta.LabelSelector: labelSelector
  [string]: matchLabelKeys

Affinity -- which nodes a pod likes, and which pods it wants near or far
  NodeAffinity: nodeAffinity
  PodAffinity: podAffinity
  PodAntiAffinity: podAntiAffinity

NodeAffinity -- which nodes a pod needs or prefers
  [PreferredSchedulingTerm]: preferredDuringSchedulingIgnoredDuringExecution -- nodes it would rather be on
  NodeSelector: requiredDuringSchedulingIgnoredDuringExecution -- nodes it must be on

NodeSelector (atomic) -- nodes that match at least one of the terms
  [NodeSelectorTerm]: nodeSelectorTerms!

NodeSelectorTerm (atomic) -- nodes for which all requirements hold
  [NodeSelectorRequirement]: matchExpressions -- what a node's labels must be like
  [NodeSelectorRequirement]: matchFields -- what a node's fields must be like, such as metadata.name

NodeSelectorRequirement -- a key, an operator and values that a node is held against
  string: operator! -- In, NotIn, Exists, DoesNotExist, Gt or Lt
  string: key!
  [string]: values

PreferredSchedulingTerm -- a term that counts for a node with a weight
  NodeSelectorTerm: preference!
  int32: weight!

PodAffinity -- pods it wants to be near
  [WeightedPodAffinityTerm]: preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm]: requiredDuringSchedulingIgnoredDuringExecution

PodAntiAffinity -- pods it wants to be far from
  [WeightedPodAffinityTerm]: preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm]: requiredDuringSchedulingIgnoredDuringExecution

PodAffinityTerm -- some pods, and what counts as the same place
  string: topologyKey!
  meta.LabelSelector: labelSelector namespaceSelector
  [string]: matchLabelKeys mismatchLabelKeys namespaces

WeightedPodAffinityTerm -- a term that counts with a weight
  PodAffinityTerm: podAffinityTerm!
  int32: weight!

Binding (kind) -- puts a pod onto a node
  ObjectReference: target!

ReplicationController (kind) -- keeps a number of pods running; the forerunner of ReplicaSet
  ReplicationControllerSpec: spec -- what is wanted
  ReplicationControllerStatus: status -- most recently observed status, written by the system

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
