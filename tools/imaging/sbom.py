"""The SBOM of an image: SPDX 2.3 of its Debian packages and of its Python distributions."""

import re
from datetime import UTC, datetime
from email.parser import Parser
from pathlib import Path
from typing import Any


def write_sbom(base: Path, layer: Path, name: str, version: str, epoch: int) -> dict[str, Any]:
    """The document; it is the same for the same content."""
    found = [*_debian(base), *_python(layer)]
    packages = [
        {
            "SPDXID": f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.-]', '-', one)}",
            "name": one,
            "versionInfo": number,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence,
            "externalRefs": [
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
            ],
        }
        for kind, one, number, licence, locator in found
    ]
    relations = [
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": one["SPDXID"]}
        for one in packages
    ]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://mooring.dev/sbom/{name}-{version}",
        "creationInfo": {
            "created": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: mooring-image"],
        },
        "packages": packages,
        "relationships": relations,
    }


def _debian(base: Path) -> list[tuple[str, str, str, str, str]]:
    found = []
    for text in (base / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = Parser().parsestr(text)
        if fields["Package"]:
            name, number = fields["Package"], fields["Version"]
            locator = f"pkg:deb/debian/{name}@{number}?arch={fields['Architecture']}"
            found.append(("deb", name, number, "NOASSERTION", locator))
    return sorted(found)


def _python(layer: Path) -> list[tuple[str, str, str, str, str]]:
    found = []
    for metadata in (layer / "opt/mooring").glob("*.dist-info/METADATA"):
        fields = Parser().parsestr(metadata.read_text())
        name, number = fields["Name"], fields["Version"]
        licence = fields["License-Expression"] or "NOASSERTION"
        found.append(("pypi", name, number, licence, f"pkg:pypi/{name.lower()}@{number}"))
    return sorted(found)
