"""Endpoint slices: where a Service's pods answer."""

PACKAGE = "io.k8s.api.discovery.v1"

SHAPES = """
EndpointSlice (kind)
  string: addressType!
  [Endpoint]: endpoints
  [EndpointPort]: ports

Endpoint
  [string]: addresses! (set)
  EndpointConditions: conditions
  {string}: deprecatedTopology
  EndpointHints: hints
  string: hostname nodeName zone
  core.ObjectReference: targetRef

EndpointConditions
  bool: ready serving terminating

EndpointHints
  [ForNode]: forNodes
  [ForZone]: forZones

ForNode
  string: name!

ForZone
  string: name!

EndpointPort (atomic)
  string: appProtocol name protocol
  int32: port
"""
