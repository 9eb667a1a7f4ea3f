"""Volumes of a pod, by where their bytes come from."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Volume -- a directory that containers of a pod may mount
  string: name!
  AWSElasticBlockStoreVolumeSource: awsElasticBlockStore
  AzureDiskVolumeSource: azureDisk
  AzureFileVolumeSource: azureFile
  CephFSVolumeSource: cephfs
  CinderVolumeSource: cinder
  ConfigMapVolumeSource: configMap
  CSIVolumeSource: csi
  DownwardAPIVolumeSource: downwardAPI
  EmptyDirVolumeSource: emptyDir
  EphemeralVolumeSource: ephemeral
  FCVolumeSource: fc
  FlexVolumeSource: flexVolume
  FlockerVolumeSource: flocker
  GCEPersistentDiskVolumeSource: gcePersistentDisk
  GitRepoVolumeSource: gitRepo
  GlusterfsVolumeSource: glusterfs
  HostPathVolumeSource: hostPath
  ImageVolumeSource: image
  ISCSIVolumeSource: iscsi
  NFSVolumeSource: nfs
  PersistentVolumeClaimVolumeSource: persistentVolumeClaim
  PhotonPersistentDiskVolumeSource: photonPersistentDisk
  PortworxVolumeSource: portworxVolume
  ProjectedVolumeSource: projected
  QuobyteVolumeSource: quobyte
  RBDVolumeSource: rbd
  ScaleIOVolumeSource: scaleIO
  SecretVolumeSource: secret
  StorageOSVolumeSource: storageos
  VsphereVirtualDiskVolumeSource: vsphereVolume

EmptyDirVolumeSource -- a directory that lives as long as the pod
  string: medium
  quantity: sizeLimit

HostPathVolumeSource -- a path of the node
  string: path! type

ConfigMapVolumeSource -- the entries of a ConfigMap as files
  int32: defaultMode
  [KeyToPath]: items
  string: name
  bool: optional

SecretVolumeSource -- the entries of a Secret as files
  int32: defaultMode
  [KeyToPath]: items
  bool: optional
  string: secretName

KeyToPath -- which entry becomes which file
  string: key! path!
  int32: mode

DownwardAPIVolumeSource -- fields of the pod as files
  int32: defaultMode
  [DownwardAPIVolumeFile]: items

DownwardAPIVolumeFile -- a field of the pod as a file
  string: path!
  ObjectFieldSelector: fieldRef
  int32: mode
  ResourceFieldSelector: resourceFieldRef

ProjectedVolumeSource -- several sources in one directory
  int32: defaultMode
  [VolumeProjection]: sources

VolumeProjection -- one of the sources
  ClusterTrustBundleProjection: clusterTrustBundle
  ConfigMapProjection: configMap
  DownwardAPIProjection: downwardAPI
  PodCertificateProjection: podCertificate
  SecretProjection: secret
  ServiceAccountTokenProjection: serviceAccountToken

ConfigMapProjection
  [KeyToPath]: items
  string: name
  bool: optional

SecretProjection
  [KeyToPath]: items
  string: name
  bool: optional

DownwardAPIProjection
  [DownwardAPIVolumeFile]: items

ServiceAccountTokenProjection -- a token of the pod's account, renewed before it ends
  string: audience path!
  int64: expirationSeconds

ClusterTrustBundleProjection
  string: name path! signerName
  meta.LabelSelector: labelSelector
  bool: optional

PodCertificateProjection
  string: certificateChainPath credentialBundlePath keyPath keyType! signerName!
  int32: maxExpirationSeconds
  {string}: userAnnotations

PersistentVolumeClaimVolumeSource -- the volume of a claim in the same namespace
  string: claimName!
  bool: readOnly

EphemeralVolumeSource -- a claim that lives as long as the pod
  PersistentVolumeClaimTemplate: volumeClaimTemplate

ImageVolumeSource -- the files of an image
  string: pullPolicy reference

AWSElasticBlockStoreVolumeSource
  string: fsType volumeID!
  int32: partition
  bool: readOnly

AzureDiskVolumeSource
  string: cachingMode diskName! diskURI! fsType kind
  bool: readOnly

AzureFileVolumeSource
  string: secretName! shareName!
  bool: readOnly

CSIVolumeSource -- a volume of a CSI driver that lives as long as the pod
  string: driver! fsType
  LocalObjectReference: nodePublishSecretRef
  bool: readOnly
  {string}: volumeAttributes

CephFSVolumeSource
  [string]: monitors!
  string: path secretFile user
  bool: readOnly
  LocalObjectReference: secretRef

CinderVolumeSource
  string: fsType volumeID!
  bool: readOnly
  LocalObjectReference: secretRef

FCVolumeSource
  string: fsType
  int32: lun
  bool: readOnly
  [string]: targetWWNs wwids

FlexVolumeSource
  string: driver! fsType
  {string}: options
  bool: readOnly
  LocalObjectReference: secretRef

FlockerVolumeSource
  string: datasetName datasetUUID

GCEPersistentDiskVolumeSource
  string: fsType pdName!
  int32: partition
  bool: readOnly

GitRepoVolumeSource
  string: directory repository! revision

GlusterfsVolumeSource
  string: endpoints! path!
  bool: readOnly

ISCSIVolumeSource
  string: fsType initiatorName iqn! iscsiInterface targetPortal!
  int32: lun!
  bool: chapAuthDiscovery chapAuthSession readOnly
  [string]: portals
  LocalObjectReference: secretRef

NFSVolumeSource -- a directory of an NFS server
  string: path! server!
  bool: readOnly

PhotonPersistentDiskVolumeSource
  string: fsType pdID!

PortworxVolumeSource
  string: fsType volumeID!
  bool: readOnly

QuobyteVolumeSource
  string: group registry! tenant user volume!
  bool: readOnly

RBDVolumeSource
  string: fsType image! keyring pool user
  [string]: monitors!
  bool: readOnly
  LocalObjectReference: secretRef

ScaleIOVolumeSource
  string: fsType gateway! protectionDomain storageMode storagePool system! volumeName
  LocalObjectReference: secretRef!
  bool: readOnly sslEnabled

StorageOSVolumeSource
  string: fsType volumeName volumeNamespace
  bool: readOnly
  LocalObjectReference: secretRef

VsphereVirtualDiskVolumeSource
  string: fsType storagePolicyID storagePolicyName volumePath!
"""
