"""API services: which groups are served, and by whom."""

PACKAGE = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"

SHAPES = """
APIService (kind)
  APIServiceSpec: spec
  APIServiceStatus: status

APIServiceSpec
  int32: groupPriorityMinimum! versionPriority!
  bytes: caBundle
  string: group version
  bool: insecureSkipTLSVerify
  ServiceReference: service

ServiceReference
  string: name namespace
  int32: port

APIServiceStatus
  [APIServiceCondition]: conditions (map type)

APIServiceCondition
  string: message reason status! type!
  time: lastTransitionTime
"""
