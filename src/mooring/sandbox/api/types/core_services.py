"""Services, their ports and their endpoints."""

PACKAGE = "io.k8s.api.core.v1"

SHAPES = """
Service (kind)
  ServiceSpec: spec
  ServiceStatus: status

ServiceSpec
  bool: allocateLoadBalancerNodePorts publishNotReadyAddresses
  string: clusterIP externalName externalTrafficPolicy internalTrafficPolicy ipFamilyPolicy loadBalancerClass
  string: loadBalancerIP sessionAffinity trafficDistribution type
  [string]: clusterIPs externalIPs ipFamilies loadBalancerSourceRanges
  int32: healthCheckNodePort
  [ServicePort]: ports (map port,protocol)
  {string}: selector (atomic)
  SessionAffinityConfig: sessionAffinityConfig

ServicePort
  int32: nodePort port!
  string: appProtocol name
  string: protocol (default TCP)
  int-or-string: targetPort

ServiceStatus
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

Endpoints (kind)
  [EndpointSubset]: subsets

EndpointSubset
  [EndpointAddress]: addresses notReadyAddresses
  [EndpointPort]: ports

EndpointAddress (atomic)
  string: hostname ip! nodeName
  ObjectReference: targetRef

EndpointPort (atomic)
  int32: port!
  string: appProtocol name protocol
"""
