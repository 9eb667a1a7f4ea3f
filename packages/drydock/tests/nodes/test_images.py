"""Images are docker archives of files of this machine."""

import json
import tarfile
from hashlib import sha256
from pathlib import Path

from drydock.nodes.images import BUSYBOX, PAUSE, busybox_image, pause_image, write_archive


def test_an_archive_has_a_config_and_a_layer_for_each_image(tmp_path: Path) -> None:
    program = tmp_path / "busybox"
    program.write_bytes(b"#!program")
    write_archive(tmp_path / "images.tar", [pause_image(program), busybox_image(program)])
    with tarfile.open(tmp_path / "images.tar") as archive:
        manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        assert [entry["RepoTags"] for entry in manifest] == [[PAUSE], list(BUSYBOX)]
        for entry in manifest:
            config = json.load(archive.extractfile(entry["Config"]))  # type: ignore[arg-type]
            layer = archive.extractfile(entry["Layers"][0]).read()  # type: ignore[union-attr]
            assert config["rootfs"]["diff_ids"] == [f"sha256:{sha256(layer).hexdigest()}"]
        with tarfile.open(fileobj=archive.extractfile(manifest[1]["Layers"][0])) as shell:  # type: ignore[arg-type]
            assert shell.getmember("bin/sh").linkname == "busybox"
            assert shell.getmember("bin/busybox").mode == 0o755
            assert shell.getmember("tmp").mode == 0o1777


def test_the_same_files_give_the_same_archive(tmp_path: Path) -> None:
    program = tmp_path / "busybox"
    program.write_bytes(b"#!program")
    for name in ("one.tar", "two.tar"):
        write_archive(tmp_path / name, [busybox_image(program)])
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
