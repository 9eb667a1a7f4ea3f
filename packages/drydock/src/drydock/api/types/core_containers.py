"""Containers: what they run, how they are probed, and their states."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Container -- one program of a pod
  string: name! -- its name, unique in the pod
  [string]: args -- arguments of the command
  [string]: command -- what to run instead of the image's entrypoint
  [EnvVar]: env (map name) -- variables of its environment
  [EnvFromSource]: envFrom -- sources of many variables at once
  string: image -- what it runs
  string: imagePullPolicy -- Always, IfNotPresent or Never
  Lifecycle: lifecycle -- what is done right after the start and right before the end
  Probe: livenessProbe -- when this fails, it is restarted
  [ContainerPort]: ports (map containerPort,protocol) -- ports it listens on
  Probe: readinessProbe -- while this fails, it gets no traffic
  ResourceRequirements: resources -- what it needs, and what it may use at most
  string: restartPolicy -- of an init container: Always lets it run along with the others
  SecurityContext: securityContext -- who its process is, and what the kernel lets it do
  Probe: startupProbe -- until this succeeds, the others wait
  bool: stdin -- keep its input open
  string: terminationMessagePath -- the file whose text becomes its last message
  string: terminationMessagePolicy -- where its last message comes from
  bool: tty -- give it a terminal
  [VolumeMount]: volumeMounts (map mountPath) -- where volumes appear in it
  string: workingDir -- where it starts
  [ContainerResizePolicy]: resizePolicy
  [ContainerRestartRule]: restartPolicyRules
  bool: stdinOnce
  [VolumeDevice]: volumeDevices (map devicePath)

EphemeralContainer -- a container added to a running pod for a look inside
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

ContainerPort -- a port that a container listens on
  int32: containerPort! -- the port
  int32: hostPort -- the same on the node
  string: name -- a name for it
  string: protocol (default TCP) -- TCP, UDP or SCTP
  string: hostIP

EnvVar -- a variable of the container's environment
  string: name! -- the variable's name
  string: value -- its value; $(OTHER) stands for other variables
  EnvVarSource: valueFrom -- where its value comes from

EnvVarSource -- where the value of a variable comes from
  ConfigMapKeySelector: configMapKeyRef
  ObjectFieldSelector: fieldRef
  FileKeySelector: fileKeyRef
  ResourceFieldSelector: resourceFieldRef
  SecretKeySelector: secretKeyRef

EnvFromSource -- a source of many variables at once
  ConfigMapEnvSource: configMapRef
  string: prefix
  SecretEnvSource: secretRef

ConfigMapEnvSource
  string: name
  bool: optional

SecretEnvSource
  string: name
  bool: optional

ConfigMapKeySelector (atomic) -- one entry of a ConfigMap
  string: key! name
  bool: optional

SecretKeySelector (atomic) -- one entry of a Secret
  string: key! name
  bool: optional

FileKeySelector (atomic)
  string: key! path! volumeName!
  bool: optional

ObjectFieldSelector (atomic) -- a field of the pod itself
  string: apiVersion fieldPath!

ResourceFieldSelector (atomic) -- a request or limit of a container
  string: containerName resource!
  quantity: divisor

ResourceRequirements -- what a container needs, and what it may use at most
  {quantity}: limits -- what it may use at most
  {quantity}: requests -- what it needs; nodes are chosen by it
  [ResourceClaim]: claims (map name; replace)

ResourceClaim
  string: name! request

ContainerResizePolicy
  string: resourceName! restartPolicy!

ContainerRestartRule
  string: action!
  ContainerRestartRuleOnExitCodes: exitCodes

ContainerRestartRuleOnExitCodes
  string: operator!
  [int32]: values (set; replace)

VolumeMount -- where a volume appears in a container
  string: mountPath! mountPropagation name! recursiveReadOnly subPath subPathExpr
  bool: readOnly

VolumeDevice -- where a block volume appears in a container
  string: devicePath! name!

Lifecycle -- what is done right after the start and right before the end
  LifecycleHandler: postStart preStop
  string: stopSignal

LifecycleHandler -- something to do; exactly one of its fields
  ExecAction: exec
  HTTPGetAction: httpGet
  SleepAction: sleep
  TCPSocketAction: tcpSocket

Probe -- a check that is repeated, and how its results count
  int32: failureThreshold -- failures in a row before it counts as failed
  int32: initialDelaySeconds -- how long to wait before the first
  int32: periodSeconds -- how often
  int32: successThreshold -- successes in a row before it counts as well
  int32: timeoutSeconds -- how long an answer may take
  ExecAction: exec
  GRPCAction: grpc
  HTTPGetAction: httpGet
  TCPSocketAction: tcpSocket
  int64: terminationGracePeriodSeconds

ExecAction -- run a command in the container
  [string]: command

HTTPGetAction -- ask a URL
  int-or-string: port!
  string: host path scheme
  [HTTPHeader]: httpHeaders

HTTPHeader -- a header of the request
  string: name! value!

TCPSocketAction -- open a connection
  int-or-string: port!
  string: host

GRPCAction -- ask a gRPC health service
  int32: port!
  string: service

SleepAction -- wait
  int64: seconds!

SecurityContext -- who a container's process is, and what the kernel lets it do
  bool: allowPrivilegeEscalation privileged readOnlyRootFilesystem runAsNonRoot
  AppArmorProfile: appArmorProfile
  Capabilities: capabilities
  string: procMount
  int64: runAsGroup runAsUser
  SELinuxOptions: seLinuxOptions
  SeccompProfile: seccompProfile
  WindowsSecurityContextOptions: windowsOptions

Capabilities -- what root may do, added and dropped
  [string]: add drop

SELinuxOptions -- the SELinux label of the process
  string: level role type user

SeccompProfile -- which system calls are allowed
  string: localhostProfile type!

AppArmorProfile -- what AppArmor allows
  string: localhostProfile type!

WindowsSecurityContextOptions -- what is particular to Windows
  string: gmsaCredentialSpec gmsaCredentialSpecName runAsUserName
  bool: hostProcess

ContainerStatus -- what has become of a container
  string: image! -- the image that runs
  string: imageID! -- which image exactly
  bool: ready! -- does it get traffic
  int32: restartCount! -- how often it was started again
  string: name! stopSignal
  string: containerID -- its id at the runtime
  ContainerState: lastState -- how it ended last
  bool: started -- has its startup probe succeeded
  ContainerState: state -- what it is doing now
  {quantity}: allocatedResources
  [ResourceStatus]: allocatedResourcesStatus (map name)
  ResourceRequirements: resources
  ContainerUser: user
  [VolumeMountStatus]: volumeMounts (map mountPath)

ContainerState -- waiting, running or terminated; one of its fields
  ContainerStateRunning: running
  ContainerStateTerminated: terminated
  ContainerStateWaiting: waiting

ContainerStateWaiting -- not started yet, or about to be again
  string: message reason

ContainerStateRunning -- started, and not ended
  time: startedAt

ContainerStateTerminated -- ended, and how
  int32: exitCode! -- what it ended with
  time: finishedAt -- when it ended
  string: message -- its last message
  string: reason -- why it ended, in a word
  int32: signal -- what ended it
  time: startedAt -- when it started
  string: containerID

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
