"""Containers: what they run, how they are probed, and their states."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Container
  string: image imagePullPolicy name! restartPolicy terminationMessagePath terminationMessagePolicy workingDir
  [string]: args command
  [EnvVar]: env (map name)
  [EnvFromSource]: envFrom
  Lifecycle: lifecycle
  Probe: livenessProbe readinessProbe startupProbe
  [ContainerPort]: ports (map containerPort,protocol)
  [ContainerResizePolicy]: resizePolicy
  ResourceRequirements: resources
  [ContainerRestartRule]: restartPolicyRules
  SecurityContext: securityContext
  bool: stdin stdinOnce tty
  [VolumeDevice]: volumeDevices (map devicePath)
  [VolumeMount]: volumeMounts (map mountPath)

EphemeralContainer
  string: image imagePullPolicy name! restartPolicy targetContainerName terminationMessagePath
  string: terminationMessagePolicy workingDir
  [string]: args command
  [EnvVar]: env (map name)
  [EnvFromSource]: envFrom
  Lifecycle: lifecycle
  Probe: livenessProbe readinessProbe startupProbe
  [ContainerPort]: ports (map containerPort,protocol)
  [ContainerResizePolicy]: resizePolicy
  ResourceRequirements: resources
  [ContainerRestartRule]: restartPolicyRules
  SecurityContext: securityContext
  bool: stdin stdinOnce tty
  [VolumeDevice]: volumeDevices (map devicePath)
  [VolumeMount]: volumeMounts (map mountPath)

ContainerPort
  int32: containerPort! hostPort
  string: hostIP name
  string: protocol (default TCP)

EnvVar
  string: name! value
  EnvVarSource: valueFrom

EnvVarSource
  ConfigMapKeySelector: configMapKeyRef
  ObjectFieldSelector: fieldRef
  FileKeySelector: fileKeyRef
  ResourceFieldSelector: resourceFieldRef
  SecretKeySelector: secretKeyRef

EnvFromSource
  ConfigMapEnvSource: configMapRef
  string: prefix
  SecretEnvSource: secretRef

ConfigMapEnvSource
  string: name
  bool: optional

SecretEnvSource
  string: name
  bool: optional

ConfigMapKeySelector (atomic)
  string: key! name
  bool: optional

SecretKeySelector (atomic)
  string: key! name
  bool: optional

FileKeySelector (atomic)
  string: key! path! volumeName!
  bool: optional

ObjectFieldSelector (atomic)
  string: apiVersion fieldPath!

ResourceFieldSelector (atomic)
  string: containerName resource!
  quantity: divisor

ResourceRequirements
  [ResourceClaim]: claims (map name; replace)
  {quantity}: limits requests

ResourceClaim
  string: name! request

ContainerResizePolicy
  string: resourceName! restartPolicy!

ContainerRestartRule
  string: action!
  ContainerRestartRuleOnExitCodes: exitCodes

ContainerRestartRuleOnExitCodes
  string: operator!
  [int32]: values (set)

VolumeMount
  string: mountPath! mountPropagation name! recursiveReadOnly subPath subPathExpr
  bool: readOnly

VolumeDevice
  string: devicePath! name!

Lifecycle
  LifecycleHandler: postStart preStop
  string: stopSignal

LifecycleHandler
  ExecAction: exec
  HTTPGetAction: httpGet
  SleepAction: sleep
  TCPSocketAction: tcpSocket

Probe
  ExecAction: exec
  int32: failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds
  GRPCAction: grpc
  HTTPGetAction: httpGet
  TCPSocketAction: tcpSocket
  int64: terminationGracePeriodSeconds

ExecAction
  [string]: command

HTTPGetAction
  int-or-string: port!
  string: host path scheme
  [HTTPHeader]: httpHeaders

HTTPHeader
  string: name! value!

TCPSocketAction
  int-or-string: port!
  string: host

GRPCAction
  int32: port!
  string: service

SleepAction
  int64: seconds!

SecurityContext
  bool: allowPrivilegeEscalation privileged readOnlyRootFilesystem runAsNonRoot
  AppArmorProfile: appArmorProfile
  Capabilities: capabilities
  string: procMount
  int64: runAsGroup runAsUser
  SELinuxOptions: seLinuxOptions
  SeccompProfile: seccompProfile
  WindowsSecurityContextOptions: windowsOptions

Capabilities
  [string]: add drop

SELinuxOptions
  string: level role type user

SeccompProfile
  string: localhostProfile type!

AppArmorProfile
  string: localhostProfile type!

WindowsSecurityContextOptions
  string: gmsaCredentialSpec gmsaCredentialSpecName runAsUserName
  bool: hostProcess

ContainerStatus
  string: containerID image! imageID! name! stopSignal
  bool: ready! started
  int32: restartCount!
  {quantity}: allocatedResources
  [ResourceStatus]: allocatedResourcesStatus (map name)
  ContainerState: lastState state
  ResourceRequirements: resources
  ContainerUser: user
  [VolumeMountStatus]: volumeMounts (map mountPath)

ContainerState
  ContainerStateRunning: running
  ContainerStateTerminated: terminated
  ContainerStateWaiting: waiting

ContainerStateWaiting
  string: message reason

ContainerStateRunning
  time: startedAt

ContainerStateTerminated
  int32: exitCode! signal
  string: containerID message reason
  time: finishedAt startedAt

ContainerUser
  LinuxContainerUser: linux

LinuxContainerUser
  int64: gid! uid!
  [int64]: supplementalGroups

VolumeMountStatus
  string: mountPath! name! recursiveReadOnly
  bool: readOnly
  VolumeStatus: volumeStatus

VolumeStatus
  ImageVolumeStatus: image

ImageVolumeStatus
  string: imageRef!

ResourceStatus
  string: name!
  [ResourceHealth]: resources (map resourceID; replace)

ResourceHealth
  string: health message resourceID!
"""
