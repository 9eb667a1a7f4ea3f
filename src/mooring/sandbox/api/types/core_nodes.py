"""Nodes: machines, their capacity, taints and conditions."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Node (kind)
  NodeSpec: spec
  NodeStatus: status

NodeSpec
  NodeConfigSource: configSource
  string: externalID podCIDR providerID
  [string]: podCIDRs (set)
  [Taint]: taints
  bool: unschedulable

NodeStatus
  [NodeAddress]: addresses (map type)
  {quantity}: allocatable capacity
  [NodeCondition]: conditions (map type)
  NodeConfigStatus: config
  NodeDaemonEndpoints: daemonEndpoints
  [string]: declaredFeatures volumesInUse
  NodeFeatures: features
  [ContainerImage]: images
  NodeSystemInfo: nodeInfo
  string: phase
  [NodeRuntimeHandler]: runtimeHandlers
  [AttachedVolume]: volumesAttached

NodeCondition
  string: message reason status! type!
  time: lastHeartbeatTime lastTransitionTime

NodeAddress
  string: address! type!

NodeSystemInfo
  string: architecture! bootID! containerRuntimeVersion! kernelVersion! kubeProxyVersion! kubeletVersion! machineID!
  string: operatingSystem! osImage! systemUUID!
  NodeSwapStatus: swap

NodeSwapStatus
  int64: capacity

NodeDaemonEndpoints
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

ContainerImage
  [string]: names
  int64: sizeBytes

AttachedVolume
  string: devicePath! name!

Taint
  string: effect! key! value
  time: timeAdded
"""
