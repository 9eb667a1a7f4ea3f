"""Who is asking: token reviews and token requests."""

PACKAGE = "io.k8s.api.authentication.v1"

SHAPES = """
TokenReview (kind)
  TokenReviewSpec: spec!
  TokenReviewStatus: status

TokenReviewSpec
  string: token!
  [string]: audiences

TokenReviewStatus
  [string]: audiences
  bool: authenticated
  string: error
  UserInfo: user

UserInfo
  {[string]}: extra
  [string]: groups
  string: uid username

SelfSubjectReview (kind)
  SelfSubjectReviewStatus: status

SelfSubjectReviewStatus
  UserInfo: userInfo

TokenRequest (kind)
  TokenRequestSpec: spec
  TokenRequestStatus: status

TokenRequestSpec
  [string]: audiences
  BoundObjectReference: boundObjectRef
  int64: expirationSeconds

BoundObjectReference
  string: apiVersion kind name uid

TokenRequestStatus
  time: expirationTimestamp
  string: token
"""
