"""Services, their ports and their endpoints."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Service (kind) -- one address for many pods
  ServiceSpec: spec -- what is wanted
  ServiceStatus: status -- most recently observed status, written by the system

ServiceSpec -- which pods, which ports, and how it is reached
  string: clusterIP -- its address; None for no address of its own
  [string]: externalIPs -- more addresses it answers on
  [ServicePort]: ports (map port,protocol) -- its ports
  bool: publishNotReadyAddresses -- list pods that are not ready too
  {string}: selector (atomic) -- labels of the pods behind it
  string: sessionAffinity -- ClientIP or None
  string: type -- ClusterIP, NodePort, LoadBalancer or ExternalName
  bool: allocateLoadBalancerNodePorts
  [string]: clusterIPs ipFamilies loadBalancerSourceRanges
  string: externalName externalTrafficPolicy internalTrafficPolicy ipFamilyPolicy loadBalancerClass loadBalancerIP
  string: trafficDistribution
  int32: healthCheckNodePort
  SessionAffinityConfig: sessionAffinityConfig

ServicePort -- a port of the service, and where it leads
  int32: port! -- the port of the service
  string: name -- its name; needed when there are several
  int32: nodePort -- the port on every node
  string: protocol (default TCP) -- TCP, UDP or SCTP
  int-or-string: targetPort -- the port of the pods, by number or name
  string: appProtocol

ServiceStatus -- what has become of a service
  [meta.Condition]: conditions (map type)
  LoadBalancerStatus: loadBalancer

SessionAffinityConfig
  ClientIPConfig: clientIP

ClientIPConfig
  int32: timeoutSeconds

LoadBalancerStatus
  [LoadBalancerIngress]: ingress

LoadBalancerIngress
  string: hostname ip ipMode
  [PortStatus]: ports

PortStatus
  string: error protocol!
  int32: port!

Endpoints (kind) -- the addresses behind a service; EndpointSlice is its successor
  [EndpointSubset]: subsets

EndpointSubset -- addresses that have the same ports
  [EndpointAddress]: addresses notReadyAddresses
  [EndpointPort]: ports

EndpointAddress (atomic)
  string: hostname ip! nodeName
  ObjectReference: targetRef

EndpointPort (atomic)
  int32: port!
  string: appProtocol name protocol
"""
