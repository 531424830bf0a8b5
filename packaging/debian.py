"""Makes the Debian package: its description is in packaging/debian/, its content comes from the wheel."""

import email.utils
import os
import subprocess
import tempfile
from pathlib import Path

from project import NAME, ROOT, VERSION, Wheel, compressed, render, timestamp

TEMPLATES = ROOT / "packaging/debian"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# In Debian's order, a tilde sorts before the release itself. The `-1` never changes, since a release is packed once.
DEBIAN_VERSION = VERSION.replace("-", "~") + "-1"


def contents(wheel: Wheel) -> dict[str, bytes]:
    """The files in the layout that Debian's policy asks for."""
    files = {}
    for name, content in wheel.files.items():
        if name.startswith("share/man/"):
            files[f"usr/{name}.gz"] = compressed(content)
        elif name.startswith(("bin/", "share/")):
            files["usr/" + name.replace("zsh/site-functions", "zsh/vendor-completions")] = content
    documents = f"usr/share/doc/{NAME}"
    files[f"{documents}/changelog.gz"] = compressed((ROOT / "CHANGELOG.md").read_bytes())
    written = render(TEMPLATES / "changelog", debian_version=DEBIAN_VERSION, date=email.utils.formatdate(timestamp()))
    files[f"{documents}/changelog.Debian.gz"] = compressed(written.encode())
    files[f"{documents}/copyright"] = render(TEMPLATES / "copyright", mit=licence(wheel, "LICENSE-MIT")).encode()
    files[f"usr/share/lintian/overrides/{NAME}"] = render(TEMPLATES / "lintian-overrides").encode()
    return files


def licence(wheel: Wheel, name: str) -> str:
    """A licence as a field of the copyright file: indented, with a dot for an empty line."""
    return "\n".join(f" {line or '.'}" for line in wheel.files[name].decode().strip().splitlines())


def build(wheel: Wheel, target: str, out: Path) -> Path:
    """Writes the package into `out` and returns its path."""
    architecture, files = ARCHITECTURES[target.split("-")[0]], contents(wheel)
    size = sum(-(-len(content) // 1024) for content in files.values())
    files["DEBIAN/control"] = render(TEMPLATES / "control", architecture=architecture, debian_version=DEBIAN_VERSION, size=str(size)).encode()
    package = out / f"{NAME}_{DEBIAN_VERSION}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        for name, content in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if name.startswith("usr/bin/") else 0o644)
        for folder in (path for path in Path(root).rglob("*") if path.is_dir()):
            folder.chmod(0o755)
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, str(package)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(timestamp())}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return package
