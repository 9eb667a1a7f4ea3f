"""Definitions of custom kinds."""

PACKAGE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

SHAPES = """
CustomResourceDefinition (kind) -- adds a kind to the API
  CustomResourceDefinitionSpec: spec! -- what is wanted
  CustomResourceDefinitionStatus: status -- most recently observed status, written by the system

CustomResourceDefinitionSpec -- the kind's names, versions and scope
  string: group! scope!
  CustomResourceDefinitionNames: names!
  [CustomResourceDefinitionVersion]: versions!
  CustomResourceConversion: conversion
  bool: preserveUnknownFields

CustomResourceConversion -- how versions become each other
  string: strategy!
  WebhookConversion: webhook

WebhookConversion
  [string]: conversionReviewVersions!
  WebhookClientConfig: clientConfig

WebhookClientConfig
  bytes: caBundle
  ServiceReference: service
  string: url

ServiceReference
  string: name! namespace! path
  int32: port

CustomResourceDefinitionNames -- what the kind is called
  string: kind! listKind plural! singular
  [string]: categories shortNames

CustomResourceDefinitionVersion -- one version, with its schema
  bool: served! -- may it be used
  bool: storage! -- is it the version objects are kept in; exactly one is
  string: deprecationWarning name!
  [CustomResourceColumnDefinition]: additionalPrinterColumns -- columns of kubectl get
  CustomResourceValidation: schema -- what its objects must look like
  [SelectableField]: selectableFields -- fields one may select objects by
  CustomResourceSubresources: subresources -- does it have a status and a scale
  bool: deprecated

CustomResourceColumnDefinition -- a column of kubectl get
  string: description format jsonPath! name! type!
  int32: priority

CustomResourceValidation -- what objects must look like
  JSONSchemaProps: openAPIV3Schema

JSONSchemaProps -- a JSON schema, in the part that Kubernetes knows
  string: $ref $schema description format id pattern title type x-kubernetes-list-type x-kubernetes-map-type
  any: additionalItems additionalProperties default example
  [JSONSchemaProps]: allOf anyOf oneOf
  {JSONSchemaProps}: definitions patternProperties properties
  {any}: dependencies
  [any]: enum
  bool: exclusiveMaximum exclusiveMinimum nullable uniqueItems x-kubernetes-embedded-resource
  bool: x-kubernetes-int-or-string x-kubernetes-preserve-unknown-fields
  ExternalDocumentation: externalDocs
  JSONSchemaProps: items not
  int64: maxItems maxLength maxProperties minItems minLength minProperties
  double: maximum minimum multipleOf
  [string]: required x-kubernetes-list-map-keys
  [ValidationRule]: x-kubernetes-validations (map rule)

ExternalDocumentation
  string: description url

ValidationRule -- a rule in CEL
  string: rule! -- must be true; self is the value, oldSelf the one before
  string: fieldPath -- where the fault lies
  string: message -- what to say when it is not
  string: messageExpression -- says it with the values at hand
  string: reason -- what kind of fault it is
  bool: optionalOldSelf

SelectableField -- a field one may select objects by
  string: jsonPath!

CustomResourceSubresources -- does it have a status and a scale
  CustomResourceSubresourceScale: scale
  CustomResourceSubresourceStatus: status

CustomResourceSubresourceScale -- where the replicas are
  string: labelSelectorPath specReplicasPath! statusReplicasPath!

CustomResourceSubresourceStatus -- its status is written apart from the rest

CustomResourceDefinitionStatus -- are the names accepted, is the kind served
  CustomResourceDefinitionNames: acceptedNames
  [CustomResourceDefinitionCondition]: conditions (map type; replace)
  int64: observedGeneration
  [string]: storedVersions

CustomResourceDefinitionCondition
  string: message reason status! type!
  time: lastTransitionTime
  int64: observedGeneration
"""
