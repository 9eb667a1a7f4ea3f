"""Endpoint slices: where a Service's pods answer."""

PACKAGE = "io.k8s.api.discovery.v1"

SHAPES = """
EndpointSlice (kind) -- some of the addresses behind a service
  string: addressType!
  [Endpoint]: endpoints
  [EndpointPort]: ports

Endpoint -- one place that answers
  [string]: addresses! (set; replace)
  EndpointConditions: conditions
  {string}: deprecatedTopology
  EndpointHints: hints
  string: hostname nodeName zone
  core.ObjectReference: targetRef

EndpointConditions -- is it ready, does it serve, is it ending
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
