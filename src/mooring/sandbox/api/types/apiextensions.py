"""Definitions of custom kinds."""

PACKAGE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

SHAPES = """
CustomResourceDefinition (kind)
  CustomResourceDefinitionSpec: spec!
  CustomResourceDefinitionStatus: status

CustomResourceDefinitionSpec
  string: group! scope!
  CustomResourceDefinitionNames: names!
  [CustomResourceDefinitionVersion]: versions!
  CustomResourceConversion: conversion
  bool: preserveUnknownFields

CustomResourceConversion
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

CustomResourceDefinitionNames
  string: kind! listKind plural! singular
  [string]: categories shortNames

CustomResourceDefinitionVersion
  bool: deprecated served! storage!
  string: deprecationWarning name!
  [CustomResourceColumnDefinition]: additionalPrinterColumns
  CustomResourceValidation: schema
  [SelectableField]: selectableFields
  CustomResourceSubresources: subresources

CustomResourceColumnDefinition
  string: description format jsonPath! name! type!
  int32: priority

CustomResourceValidation
  JSONSchemaProps: openAPIV3Schema

JSONSchemaProps
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

ValidationRule
  string: fieldPath message messageExpression reason rule!
  bool: optionalOldSelf

SelectableField
  string: jsonPath!

CustomResourceSubresources
  CustomResourceSubresourceScale: scale
  CustomResourceSubresourceStatus: status

CustomResourceSubresourceScale
  string: labelSelectorPath specReplicasPath! statusReplicasPath!

CustomResourceSubresourceStatus

CustomResourceDefinitionStatus
  CustomResourceDefinitionNames: acceptedNames
  [CustomResourceDefinitionCondition]: conditions (map type; replace)
  int64: observedGeneration
  [string]: storedVersions

CustomResourceDefinitionCondition
  string: message reason status! type!
  time: lastTransitionTime
  int64: observedGeneration
"""
