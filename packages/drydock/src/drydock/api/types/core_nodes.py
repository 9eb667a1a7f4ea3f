"""Nodes: machines, their capacity, taints and conditions."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Node (kind) -- a machine that runs pods
  NodeSpec: spec -- what is wanted
  NodeStatus: status -- most recently observed status, written by the system

NodeSpec -- what is decided about a node
  string: podCIDR -- addresses for its pods
  [string]: podCIDRs (set) -- addresses for its pods
  string: providerID -- the machine's id at its provider
  [Taint]: taints -- what pods must tolerate to be here
  bool: unschedulable -- no new pods
  NodeConfigSource: configSource
  string: externalID

NodeStatus -- state and resources of a node, reported by its kubelet
  [NodeAddress]: addresses (map type) -- where it can be reached
  {quantity}: allocatable -- what of it pods may use
  {quantity}: capacity -- all it has
  [NodeCondition]: conditions (map type) -- latest observations of the state: Ready, MemoryPressure, DiskPressure...
  [ContainerImage]: images -- images it has
  NodeSystemInfo: nodeInfo -- the machine and its software
  NodeConfigStatus: config
  NodeDaemonEndpoints: daemonEndpoints
  [string]: declaredFeatures volumesInUse
  NodeFeatures: features
  string: phase
  [NodeRuntimeHandler]: runtimeHandlers
  [AttachedVolume]: volumesAttached

NodeCondition -- an observed state of a node, with its time and reason
  string: message reason status! type!
  time: lastHeartbeatTime lastTransitionTime

NodeAddress -- an address of the node
  string: address! type!

NodeSystemInfo -- the machine and its software
  string: architecture! bootID! containerRuntimeVersion! kernelVersion! kubeProxyVersion! kubeletVersion! machineID!
  string: operatingSystem! osImage! systemUUID!
  NodeSwapStatus: swap

NodeSwapStatus
  int64: capacity

NodeDaemonEndpoints -- ports of the node's own services
  DaemonEndpoint: kubeletEndpoint

DaemonEndpoint
  int32: Port!

NodeFeatures
  bool: supplementalGroupsPolicy

NodeRuntimeHandler
  NodeRuntimeHandlerFeatures: features
  string: name

NodeRuntimeHandlerFeatures
  bool: recursiveReadOnlyMounts userNamespaces

NodeConfigSource
  ConfigMapNodeConfigSource: configMap

NodeConfigStatus
  NodeConfigSource: active assigned lastKnownGood
  string: error

ConfigMapNodeConfigSource
  string: kubeletConfigKey! name! namespace! resourceVersion uid

ContainerImage -- an image that the node has
  [string]: names
  int64: sizeBytes

AttachedVolume -- a volume attached to the node
  string: devicePath! name!

Taint -- keeps pods that do not tolerate it away from the node
  string: effect! -- NoSchedule, PreferNoSchedule or NoExecute
  string: key! -- its key
  time: timeAdded -- when a NoExecute taint was added
  string: value -- its value
"""
