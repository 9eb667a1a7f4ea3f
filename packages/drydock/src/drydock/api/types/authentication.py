"""Who is asking: token reviews and token requests."""

PACKAGE = "io.k8s.api.authentication.v1"

SHAPES = """
TokenReview (kind) -- asks whose token this is
  TokenReviewSpec: spec! -- what is wanted
  TokenReviewStatus: status -- most recently observed status, written by the system

TokenReviewSpec -- the token
  string: token!
  [string]: audiences

TokenReviewStatus -- the user of the token, or why there is none
  [string]: audiences
  bool: authenticated
  string: error
  UserInfo: user

UserInfo -- a user, as authentication found it
  {[string]}: extra
  [string]: groups
  string: uid username

SelfSubjectReview (kind) -- asks who one is
  SelfSubjectReviewStatus: status -- most recently observed status, written by the system

SelfSubjectReviewStatus
  UserInfo: userInfo

TokenRequest (kind) -- asks for a token of a service account
  TokenRequestSpec: spec -- what is wanted
  TokenRequestStatus: status -- most recently observed status, written by the system

TokenRequestSpec -- for whom, for how long
  [string]: audiences
  BoundObjectReference: boundObjectRef
  int64: expirationSeconds

BoundObjectReference -- the object whose end ends the token
  string: apiVersion kind name uid

TokenRequestStatus -- the token
  time: expirationTimestamp
  string: token
"""
