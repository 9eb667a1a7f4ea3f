"""Events in their newer form."""

PACKAGE = "io.k8s.api.events.v1"

SHAPES = """
Event (kind) -- something that happened to an object
  microtime: eventTime!
  string: action note reason reportingController reportingInstance type
  int32: deprecatedCount
  time: deprecatedFirstTimestamp deprecatedLastTimestamp
  core.EventSource: deprecatedSource
  core.ObjectReference: regarding related
  EventSeries: series

EventSeries
  int32: count!
  microtime: lastObservedTime!
"""
