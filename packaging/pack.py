"""Makes the packages of one target from its wheel: the archive, the bill of materials (CycloneDX) and, on Linux, the Debian package.

usage: pack.py WHEEL TARGET FOLDER. release.py then adds what is made once from the archives of all targets.
"""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

import debian
from project import NAME, ROOT, VERSION, Wheel, archive_name, compressed, timestamp


def mode(name: str) -> int:
    return 0o755 if name.startswith("bin/") else 0o644


def tar(files: dict[str, bytes], folder: str) -> bytes:
    """An archive of `files` in `folder` that has the same bytes whenever and wherever it is made."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), mode(name), timestamp()
            archive.addfile(entry, io.BytesIO(content))
    return compressed(packed.getvalue())


def zipped(files: dict[str, bytes], folder: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}"), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def main() -> None:
    wheel, target, out = Wheel(Path(sys.argv[1])), sys.argv[2], Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    pages = {name: (ROOT / name).read_bytes() for name in ("README.md", "CHANGELOG.md")}
    pack = zipped if "windows" in target else tar
    made = {
        archive_name(target): pack(wheel.files | pages, f"{NAME}-{VERSION}-{target}"),
        f"{NAME}-{VERSION}-{target}.cyclonedx.json": wheel.sbom,
    }
    for name, content in made.items():
        (out / name).write_bytes(content)
        print(out / name)
    if "linux" in target:
        print(debian.build(wheel, target, out))


main()
