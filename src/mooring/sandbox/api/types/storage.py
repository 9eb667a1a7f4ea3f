"""Storage classes and the drivers on a node."""

PACKAGE = "io.k8s.api.storage.v1"

SHAPES = """
StorageClass (kind)
  string: provisioner! reclaimPolicy volumeBindingMode
  bool: allowVolumeExpansion
  [core.TopologySelectorTerm]: allowedTopologies
  [string]: mountOptions
  {string}: parameters

CSINode (kind)
  CSINodeSpec: spec!

CSINodeSpec
  [CSINodeDriver]: drivers! (map name)

CSINodeDriver
  string: name! nodeID!
  VolumeNodeResources: allocatable
  [string]: topologyKeys

VolumeNodeResources
  int32: count
"""
