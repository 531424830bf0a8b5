"""Fixtures for the packages made by .ci/packages: as a folder, and as a server that acts as mirror."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packaging"))


@pytest.fixture
def packages() -> Path:
    """The folder of all packages."""
    return Path(os.environ["OOMDOC_PACKAGES"]).resolve()


@pytest.fixture
def target() -> str:
    return os.environ["OOMDOC_TARGET"]


@pytest.fixture
def mirror(packages, tmp_path) -> Path:
    """A copy of the packages that a test may damage."""
    copy = tmp_path / "mirror"
    copy.mkdir()
    for path in packages.iterdir():
        if path.suffix in (".gz", ".sh") or path.name == "SHA256SUMS":
            shutil.copy(path, copy)
    return copy


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files; if there is a file `cut-NAME`, an answer for NAME breaks off at its length although the full length was announced."""

    def log_message(self, *said):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        cut = path.with_name(f"cut-{path.name}")
        if not cut.exists():
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()
        self.wfile.write(cut.read_bytes())
        self.close_connection = True


@pytest.fixture
def address(mirror):
    """The URL of the mirror, served over HTTP."""
    handler = functools.partial(Quiet, directory=mirror)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def install(tmp_path, target):
    """A function that runs install.sh with these variables and returns how it ended; the script sees no other environment variables."""

    def run(script=ROOT / "packaging/install.sh", **variables):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "OOMDOC_TARGET": target, **variables}
        environment = {name: str(value) for name, value in environment.items() if value is not None}
        return subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, timeout=600)

    return run


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
