"""Storage classes and the drivers on a node."""

PACKAGE = "io.k8s.api.storage.v1"

SHAPES = """
StorageClass (kind) -- a kind of storage that can be asked for
  string: provisioner! reclaimPolicy volumeBindingMode
  bool: allowVolumeExpansion
  [core.TopologySelectorTerm]: allowedTopologies
  [string]: mountOptions
  {string}: parameters

CSINode (kind) -- the storage drivers of a node
  CSINodeSpec: spec! -- what is wanted

CSINodeSpec
  [CSINodeDriver]: drivers! (map name)

CSINodeDriver
  string: name! nodeID!
  VolumeNodeResources: allocatable
  [string]: topologyKeys

VolumeNodeResources
  int32: count
"""
