"""What can go wrong with an object store.

StoreError
+-- StoreUnavailable   no answer, a broken one, or a 5xx: the same request may succeed later
+-- AccessRefused      401 or 403; a permission that was just granted may take a minute to be known everywhere
+-- ObjectMissing      404
+-- ObjectDamaged      the content is not what its checksum says
+-- StoreRefused       any other answer: a repetition does not help
"""

from mooring.model.errors import MooringError


class StoreError(MooringError):
    """Something is wrong with the object store, or with an object."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store did not answer, or only a part."""

    code = "store_unavailable"


class AccessRefused(StoreError):
    """The store does not accept the credentials, or they have no permission."""

    code = "store_access_refused"


class ObjectMissing(StoreError):
    """There is no such object."""

    code = "object_missing"


class ObjectDamaged(StoreError):
    """The content of an object does not match its checksum."""

    code = "object_damaged"


class StoreRefused(StoreError):
    """The store refuses the request."""

    code = "store_refused"


PASSING = (StoreUnavailable, AccessRefused)
"""Errors that may pass by themselves."""
