"""What every package says about oomdoc, from one source: Cargo.toml and the wheel that was built."""

import gzip
import os
import string
import subprocess
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
NAME, VERSION, DESCRIPTION, REPOSITORY = (MANIFEST[key] for key in ("name", "version", "description", "repository"))


def archive_name(target: str) -> str:
    """The archive's name; install.sh looks for the same name in SHA256SUMS."""
    return f"{NAME}-{VERSION}-{target}{'.zip' if 'windows' in target else '.tar.gz'}"


def render(template: Path, **values: str) -> str:
    """A template with each `$name` replaced by a value of Cargo.toml or of `values`; a missing one is an error."""
    known = {"name": NAME, "version": VERSION, "description": DESCRIPTION, "repository": REPOSITORY}
    return string.Template(template.read_text(encoding="utf-8")).substitute(known, **values)


def timestamp() -> int:
    """The modification time of files in packages: the commit's, so that a commit is always packed into the same bytes."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)


def compressed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


class Wheel:
    """The files of a wheel, arranged for other packages: bin/, share/, licences, and the bill of materials."""

    def __init__(self, path: Path) -> None:
        self.files: dict[str, bytes] = {}
        self.sbom = b""
        data, info = f"{NAME}-{VERSION}.data/", f"{NAME}-{VERSION}.dist-info/"
        with zipfile.ZipFile(path) as wheel:
            for name in (name for name in wheel.namelist() if not name.endswith("/")):
                content = wheel.read(name)
                if name.startswith(data + "scripts/"):
                    self.files["bin/" + name.removeprefix(data + "scripts/")] = content
                elif name.startswith(data + "data/share/"):
                    self.files[name.removeprefix(data + "data/")] = content
                elif name.startswith(info + "licenses/"):
                    self.files[name.removeprefix(info + "licenses/")] = content
                elif name.startswith(info + "sboms/"):
                    self.sbom = content
        wanted = {"bin", "share", "LICENSE-MIT", "LICENSE-APACHE"}
        missing = wanted - {name.split("/")[0] for name in self.files}
        if missing or not self.sbom:
            raise SystemExit(f"{path} is not the wheel of {NAME} {VERSION}, or lacks {missing or 'its bill of materials'}")
