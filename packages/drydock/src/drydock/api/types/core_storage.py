"""Persistent volumes, the claims on them, and where their bytes live."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
PersistentVolume (kind) -- a piece of storage
  PersistentVolumeSpec: spec -- what is wanted
  PersistentVolumeStatus: status -- most recently observed status, written by the system

PersistentVolumeSpec -- where the storage is, and how it may be used
  [string]: accessModes mountOptions
  AWSElasticBlockStoreVolumeSource: awsElasticBlockStore
  AzureDiskVolumeSource: azureDisk
  AzureFilePersistentVolumeSource: azureFile
  {quantity}: capacity
  CephFSPersistentVolumeSource: cephfs
  CinderPersistentVolumeSource: cinder
  ObjectReference: claimRef (granular)
  CSIPersistentVolumeSource: csi
  FCVolumeSource: fc
  FlexPersistentVolumeSource: flexVolume
  FlockerVolumeSource: flocker
  GCEPersistentDiskVolumeSource: gcePersistentDisk
  GlusterfsPersistentVolumeSource: glusterfs
  HostPathVolumeSource: hostPath
  ISCSIPersistentVolumeSource: iscsi
  LocalVolumeSource: local
  NFSVolumeSource: nfs
  VolumeNodeAffinity: nodeAffinity
  string: persistentVolumeReclaimPolicy storageClassName volumeAttributesClassName volumeMode
  PhotonPersistentDiskVolumeSource: photonPersistentDisk
  PortworxVolumeSource: portworxVolume
  QuobyteVolumeSource: quobyte
  RBDPersistentVolumeSource: rbd
  ScaleIOPersistentVolumeSource: scaleIO
  StorageOSPersistentVolumeSource: storageos
  VsphereVirtualDiskVolumeSource: vsphereVolume

PersistentVolumeStatus -- what has become of a volume
  time: lastPhaseTransitionTime
  string: message phase reason

VolumeNodeAffinity
  NodeSelector: required

PersistentVolumeClaim (kind) -- a wish for storage
  PersistentVolumeClaimSpec: spec -- what is wanted
  PersistentVolumeClaimStatus: status -- most recently observed status, written by the system

PersistentVolumeClaimTemplate
  PersistentVolumeClaimSpec: spec!
  meta.ObjectMeta: metadata

PersistentVolumeClaimSpec -- how much, of which class, used how
  [string]: accessModes
  TypedLocalObjectReference: dataSource
  TypedObjectReference: dataSourceRef
  VolumeResourceRequirements: resources
  meta.LabelSelector: selector
  string: storageClassName volumeAttributesClassName volumeMode volumeName

PersistentVolumeClaimStatus -- what has become of a claim
  [string]: accessModes
  {string}: allocatedResourceStatuses
  {quantity}: allocatedResources capacity
  [PersistentVolumeClaimCondition]: conditions (map type)
  string: currentVolumeAttributesClassName phase
  ModifyVolumeStatus: modifyVolumeStatus

PersistentVolumeClaimCondition
  string: message reason status! type!
  time: lastProbeTime lastTransitionTime

ModifyVolumeStatus
  string: status! targetVolumeAttributesClassName

VolumeResourceRequirements -- how much storage is needed
  {quantity}: limits requests

LocalVolumeSource -- a disk of one node
  string: fsType path!

CSIPersistentVolumeSource -- a volume of a CSI driver
  string: driver! fsType volumeHandle!
  SecretReference: controllerExpandSecretRef controllerPublishSecretRef nodeExpandSecretRef nodePublishSecretRef
  SecretReference: nodeStageSecretRef
  bool: readOnly
  {string}: volumeAttributes

AzureFilePersistentVolumeSource
  string: secretName! secretNamespace shareName!
  bool: readOnly

CephFSPersistentVolumeSource
  [string]: monitors!
  string: path secretFile user
  bool: readOnly
  SecretReference: secretRef

CinderPersistentVolumeSource
  string: fsType volumeID!
  bool: readOnly
  SecretReference: secretRef

FlexPersistentVolumeSource
  string: driver! fsType
  {string}: options
  bool: readOnly
  SecretReference: secretRef

GlusterfsPersistentVolumeSource
  string: endpoints! endpointsNamespace path!
  bool: readOnly

ISCSIPersistentVolumeSource
  string: fsType initiatorName iqn! iscsiInterface targetPortal!
  int32: lun!
  bool: chapAuthDiscovery chapAuthSession readOnly
  [string]: portals
  SecretReference: secretRef

RBDPersistentVolumeSource
  string: fsType image! keyring pool user
  [string]: monitors!
  bool: readOnly
  SecretReference: secretRef

ScaleIOPersistentVolumeSource
  string: fsType gateway! protectionDomain storageMode storagePool system! volumeName
  SecretReference: secretRef!
  bool: readOnly sslEnabled

StorageOSPersistentVolumeSource
  string: fsType volumeName volumeNamespace
  bool: readOnly
  ObjectReference: secretRef
"""
