"""Who a request comes from, as authentication proved it."""

import hashlib
import re
from typing import Literal

import msgspec

from mooring.model.names import OWNER_VALUE

Via = Literal["kubernetes", "static", "operator"]

OPERATORS_GROUP = "system:masters"
"""Kubernetes allows this group everything without asking any authorizer; so does Mooring."""

_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")
_OPERATOR, _LOCAL_READER = "operator", "local-reader"
_OWN_ACTORS = ("claim/", "invariant/", "replica/", "worker/", "user/")
_OWN_HOLDERS = (f"{_OPERATOR}/", "user/")
_MOST_OWNER = 63
_HASH_DIGITS = 16  # so many that nobody finds a name with the hash of another one
_HASHED = re.compile(rf"(.*-)?[0-9a-f]{{{_HASH_DIGITS}}}")


class Identity(msgspec.Struct, frozen=True):
    """A caller. `via` is how it was proven: a Kubernetes token, a named static token, or this machine's own token."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    via: Via = "kubernetes"

    @property
    def is_operator(self) -> bool:
        """Whether it is allowed everything."""
        return OPERATORS_GROUP in self.groups


OPERATOR = Identity(_OPERATOR, (OPERATORS_GROUP,), via="operator")
LOCAL_READER = Identity(_LOCAL_READER, (OPERATORS_GROUP,), via="operator")
"""Browsers on this machine that read open pages. It holds no claim, so it reads no payload and no epoch."""


def holder_of(identity: Identity) -> str:
    """How a claim names who made it. The operator's own token is no user of Kubernetes, so it is marked."""
    if identity.via == "operator":
        return f"{_OPERATOR}/{identity.user}"
    return _marked(identity.user) if identity.user.startswith(_OWN_HOLDERS) else identity.user


def holds(identity: Identity, holder: str, owner: str) -> bool:
    """Whether a claim of this holder is the caller's own.

    A claim from before holders were kept belongs to its owner, or to the operator, whose token made all of them.
    """
    if holder:
        return holder == holder_of(identity)
    return identity.is_operator or owner == owner_of(identity)


def owner_of(identity: Identity) -> str:
    """The owner of the claims that it makes, which is a label value.

    A ServiceAccount is `namespace.name`. A user name with a dot, or that is not a label value, gets other characters
    replaced and its hash appended, so that two users never become one owner. So does a name that ends like a hash.
    """
    account = _ACCOUNT.fullmatch(identity.user)
    name = f"{account[1]}.{account[2]}" if account else identity.user
    plain = OWNER_VALUE.fullmatch(name) and (account or "." not in name)
    if plain and not _HASHED.fullmatch(name) and not _poses_as_operator(identity):
        return name
    digest = hashlib.sha256(identity.user.encode()).hexdigest()[:_HASH_DIGITS]
    kept = re.sub(r"[^-A-Za-z0-9_.]", "-", name)[: _MOST_OWNER - _HASH_DIGITS - 1].strip("-_.")
    return f"{kept}-{digest}" if kept else digest


def actor_of(identity: Identity) -> str:
    """The name in the audit trail. Mooring's own actors are reserved, so a user name that looks like one is marked."""
    reserved = identity.user.startswith(_OWN_ACTORS) or _poses_as_operator(identity)
    return _marked(identity.user) if reserved else identity.user


def _poses_as_operator(identity: Identity) -> bool:
    """Whether a user of the cluster has the name of this installation's operator."""
    return identity.via != "operator" and identity.user in (_OPERATOR, _LOCAL_READER)


def _marked(user: str) -> str:
    return f"user/{user}"
