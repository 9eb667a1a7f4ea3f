"""The root file systems: Debian's Python without package tools, and Mooring's wheels in a layer of their own."""

import shutil
import subprocess
import sys
from pathlib import Path

SUITE = "bookworm"
# Wheels with C++ inside expect libstdc++ of the system, as every base image of Python has it.
PACKAGES = ("python3", "python-is-python3", "ca-certificates", "libstdc++6", "media-types", "tzdata")
USER = "mooring:x:65532:65532:Mooring:/tmp:/usr/sbin/nologin\n"
_UNUSED = (
    *("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bug"),
    *(
        "usr/share/common-licenses",
        "var/cache",
        "var/log",
        "var/lib/apt",
        "usr/share/python3/runtime.d",
        "usr/share/perl5",
    ),
    *("usr/bin/perl", "usr/lib/x86_64-linux-gnu/perl-base", "usr/bin/pdb3", "usr/bin/pydoc3", "usr/bin/pdb3.11"),
    *("usr/bin/pydoc3.11", "usr/lib/python3.11/pydoc_data", "usr/lib/python3.11/lib2to3", "usr/lib/python3.11/test"),
)
_EMPTY = ("var/cache", "var/log", "tmp", "run")


def make_base(folder: Path) -> None:
    """Debian with Python in a fresh folder."""
    if shutil.which("mmdebstrap") is None:
        sys.exit("no mmdebstrap: apt-get install mmdebstrap")
    _clear(folder)
    subprocess.run(
        [
            *("mmdebstrap", "--quiet", "--variant=essential", f"--include={','.join(PACKAGES)}"),
            *("--aptopt=Apt::Install-Recommends false", SUITE, str(folder)),
        ],
        check=True,
    )
    (folder / "etc/passwd").write_text((folder / "etc/passwd").read_text() + USER)
    (folder / "etc/group").write_text((folder / "etc/group").read_text() + "mooring:x:65532:\n")
    for name in _UNUSED:
        _clear(folder / name)
    for pattern in ("usr/lib/python3*/**/__pycache__", "usr/share/python*/__pycache__", "var/lib/dpkg/*-old"):
        for found in sorted(folder.glob(pattern)):
            _clear(found)
    for name in (
        "etc/machine-id",
        "etc/hostname",
        "etc/resolv.conf",
        "var/lib/dpkg/lock",
        "var/lib/dpkg/lock-frontend",
    ):
        (folder / name).unlink(missing_ok=True)
    for name in _EMPTY:
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "tmp").chmod(0o1777)
    _compile(folder, "usr/lib/python3.11")


def make_layer(folder: Path, base: Path, wheels: Path, name: str) -> None:
    """The wheels of a set under /opt/mooring, compiled by the Python of the base."""
    _clear(folder)
    target = folder / "opt" / "mooring"
    target.mkdir(parents=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-index", "--no-deps", "--require-hashes"),
            *("--link-mode=copy", "--python-version=3.11", f"--find-links={wheels}", f"--target={target}"),
            *("-r", str(wheels / f"{name}.txt")),
        ],
        check=True,
    )
    for stray in (target / "bin", target / ".lock"):  # scripts name the Python that installed them
        _clear(stray)
    (target / "bin").mkdir()
    command = target / "bin" / "mooring"
    shutil.copyfile(wheels / "mooring", command)
    command.chmod(0o755)
    for found in target.glob("*.dist-info"):
        for stray in ("direct_url.json", "uv_cache.json"):
            (found / stray).unlink(missing_ok=True)
    _compile(base, "opt/mooring", mount=target)


def _compile(root: Path, path: str, mount: Path | None = None) -> None:
    """Bytecode that is never checked against its source: the root is read-only, and starting takes half the time."""
    place = root / path
    if mount is not None:
        shutil.copytree(mount, place)
    command = [
        "chroot",
        str(root),
        "/usr/bin/python3",
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
    ]
    subprocess.run([*command, f"/{path}"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if mount is not None:
        shutil.copytree(place, mount, dirs_exist_ok=True)
        _clear(place)


def _clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
