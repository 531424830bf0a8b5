"""Makes the parts of a release that exist once, from the archives of all targets: Homebrew's formula, install.sh and SHA256SUMS.

usage: release.py FOLDER. The folder holds what pack.py made for every target.
"""

import hashlib
import shutil
import sys
from pathlib import Path

from project import DESCRIPTION, NAME, REPOSITORY, ROOT, VERSION, archive_name, render

# Homebrew's names of machines, and the target whose archive each gets.
MACHINES = {
    "macos": {"arm": "aarch64-apple-darwin", "intel": "x86_64-apple-darwin"},
    "linux": {"arm": "aarch64-unknown-linux-musl", "intel": "x86_64-unknown-linux-musl"},
}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def formula(out: Path) -> str:
    """The formula for the machines whose archives exist."""
    lines = []
    for system, architectures in MACHINES.items():
        found = {cpu: out / archive_name(target) for cpu, target in architectures.items()}
        found = {cpu: path for cpu, path in found.items() if path.exists()}
        if not found:
            continue
        lines.append(f"  on_{system} do")
        for cpu, path in found.items():
            url = f"{REPOSITORY}/releases/download/v{VERSION}/{path.name}"
            lines += [f"    on_{cpu} do", f'      url "{url}"', f'      sha256 "{digest(path)}"', "    end"]
        lines.append("  end")
    # Homebrew wants descriptions without an article in front.
    brief = DESCRIPTION.removeprefix("The ")
    brief = brief[0].upper() + brief[1:]
    return render(ROOT / "packaging/oomdoc.rb", brief=brief, archives="\n".join(lines))


def main() -> None:
    out = Path(sys.argv[1])
    installer = ROOT / "packaging/install.sh"
    if f"repository={REPOSITORY}\n" not in installer.read_text(encoding="utf-8"):
        raise SystemExit(f"{installer} is not of {REPOSITORY}, which Cargo.toml names")
    shutil.copy(installer, out)
    (out / f"{NAME}.rb").write_text(formula(out), encoding="utf-8")
    sums = out / "SHA256SUMS"
    files = sorted(path for path in out.iterdir() if path.is_file() and path != sums)
    sums.write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8", newline="\n")
    print(sums.read_text(encoding="utf-8"), end="")


main()
