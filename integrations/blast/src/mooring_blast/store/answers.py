"""The XML answers of an S3 interface, read into values, and errors in words of our own."""

from dataclasses import dataclass
from xml.etree import ElementTree

from mooring_blast.store.errors import AccessRefused, ObjectMissing, StoreError, StoreRefused, StoreUnavailable

_BUSY = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Listed:
    """An object in a list."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list, and how to ask for the next."""

    objects: tuple[Listed, ...]
    prefixes: tuple[str, ...]
    next_token: str


def read_listing(payload: bytes) -> Listing:
    """The answer of ListObjectsV2."""
    root = _parse(payload)
    objects = tuple(
        Listed(_text(entry, "Key"), int(_text(entry, "Size") or 0)) for entry in root.findall("{*}Contents")
    )
    prefixes = tuple(_text(entry, "Prefix") for entry in root.findall("{*}CommonPrefixes"))
    more = _text(root, "IsTruncated") == "true"
    return Listing(objects, prefixes, _text(root, "NextContinuationToken") if more else "")


def read_upload_id(payload: bytes) -> str:
    """The answer of CreateMultipartUpload."""
    found = _text(_parse(payload), "UploadId")
    if not found:
        raise StoreUnavailable("the store began an upload in parts and gave it no id")
    return found


def check_completed(payload: bytes, key: str) -> None:
    """CompleteMultipartUpload can answer 200 and have an error in its body."""
    root = _parse(payload)
    if root.tag.rpartition("}")[2] == "Error":
        raise StoreUnavailable(f"{key}: the store did not complete the upload: {_text(root, 'Code')}")


def completion_body(tags: list[str]) -> bytes:
    """The request of CompleteMultipartUpload."""
    root = ElementTree.Element("CompleteMultipartUpload")
    for number, tag in enumerate(tags, 1):
        part = ElementTree.SubElement(root, "Part")
        ElementTree.SubElement(part, "PartNumber").text = str(number)
        ElementTree.SubElement(part, "ETag").text = tag
    return ElementTree.tostring(root)


def classify_answer(status: int, payload: bytes, what: str) -> StoreError:
    """The error that an answer stands for. Of the store's text only its code is repeated."""
    code = _error_code(payload)
    said = f"{what}: the store answers {status}{f' {code}' if code else ''}"
    if status == 404:
        if code == "NoSuchBucket":
            return ObjectMissing(f"{said}: there is no such bucket", fix="create it, or correct BLAST_STORE")
        return ObjectMissing(f"{said}: there is no such object", fix="upload it: mooring-blast upload")
    if status in (401, 403):
        return AccessRefused(said, fix="check the keys and permissions of the Secret, and the clock of the node")
    if status >= 500 or status in _BUSY:
        return StoreUnavailable(said)
    if 300 <= status < 400:
        return StoreRefused(said, fix="correct BLAST_STORE or BLAST_STORE_REGION: redirects are not followed")
    return StoreRefused(said, fix="check BLAST_STORE")


def _error_code(payload: bytes) -> str:
    try:
        code = _text(ElementTree.fromstring(payload), "Code")
    except ElementTree.ParseError:
        return ""
    return code if code.isalnum() and len(code) < 64 else ""


def _parse(payload: bytes) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(payload)
    except ElementTree.ParseError as error:
        raise StoreUnavailable(f"the store's answer is not XML: {error}") from error


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.find(f"{{*}}{name}")
    return (found.text or "") if found is not None else ""
