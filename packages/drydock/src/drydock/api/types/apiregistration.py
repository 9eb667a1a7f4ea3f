"""API services: which groups are served, and by whom."""

PACKAGE = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"

SHAPES = """
APIService (kind) -- a group version, and who serves it
  APIServiceSpec: spec -- what is wanted
  APIServiceStatus: status -- most recently observed status, written by the system

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
