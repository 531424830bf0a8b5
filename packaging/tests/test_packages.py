"""Opens, installs and runs the packages: the archive, the Debian package, the wheel's tags, the bill of materials, the formula."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import tarfile
import tomllib

import pytest
from conftest import ROOT, files
from project import NAME, REPOSITORY, VERSION, archive_name

SHARED = {
    "share/man/man1/oomdoc.1",
    "share/man/man1/oomdoc-analyze.1",
    "share/bash-completion/completions/oomdoc",
    "share/zsh/site-functions/_oomdoc",
    "share/fish/vendor_completions.d/oomdoc.fish",
}
MADE = {str(path.relative_to(ROOT / "python/data/data")) for path in (ROOT / "python/data/data").rglob("*") if path.is_file()}
needs_all = pytest.mark.skipif("OOMDOC_ALL" not in os.environ, reason=".ci/packages --all, which installs what this takes")
needs_release = pytest.mark.skipif("OOMDOC_DEBUG_BUILD" in os.environ, reason="what is shipped, and not the debug build")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def works(command):
    assert run(ROOT / "packaging/smoke", command) == f"oomdoc {VERSION} works: {command}\n"


def test_the_archive_holds_one_command_and_its_manual(packages, target, tmp_path):
    with tarfile.open(packages / archive_name(target)) as archive:
        owners = {(entry.uid, entry.gid, entry.mode) for entry in archive}
        archive.extractall(tmp_path, filter="data")
    assert owners == {(0, 0, 0o755), (0, 0, 0o644)}
    root = tmp_path / f"{NAME}-{VERSION}-{target}"
    documents = {"README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"}
    assert SHARED <= MADE and files(root) == MADE | documents | {"bin/oomdoc"}
    works(root / "bin/oomdoc")


@needs_release
def test_the_command_needs_nothing_but_the_kernel(packages, target, tmp_path):
    with tarfile.open(packages / archive_name(target)) as archive:
        archive.extractall(tmp_path, filter="data")
    root = tmp_path / f"{NAME}-{VERSION}-{target}"
    # It needs neither a loader nor a library.
    headers = run("readelf", "--program-headers", "--dynamic", root / "bin/oomdoc")
    assert "INTERP" not in headers and "NEEDED" not in headers, headers
    # A chroot that contains only the command and the log.
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/job.log").write_bytes((ROOT / "corpus/llama3-8b-optimizer-step/job.log").read_bytes())
    if os.geteuid() == 0:
        inside = f"/{root.name}/bin/oomdoc"
        said = run("chroot", tmp_path, inside, "analyze", "--no-save", "--brief", "/logs/job.log", env={"PATH": os.environ["PATH"]})
        assert said.startswith("GPU out of memory in the optimizer step"), said


@needs_all
def test_the_same_commit_is_packed_into_the_same_bytes(packages, target, tmp_path):
    wheel = next(packages.glob("*.whl"))
    run("python3", ROOT / "packaging/pack.py", wheel, target, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (packages / path.name).read_bytes(), path.name


def test_digests_are_those_of_every_file(packages):
    listed = dict(reversed(line.split("  ")) for line in (packages / "SHA256SUMS").read_text().splitlines())
    present = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in packages.iterdir() if path.name != "SHA256SUMS"}
    assert listed == present
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=packages)


@needs_release
def test_the_wheel_goes_onto_every_linux(packages, target):
    name = next(packages.glob("*.whl")).name
    machine = target.split("-")[0]
    assert f"manylinux_2_17_{machine}" in name, name
    # maturin uses this tag for musl builds only.
    assert (f"musllinux_1_2_{machine}" in name) == target.endswith("-musl"), name


def test_the_bill_of_materials_names_what_is_built_in(packages, target):
    bill = json.loads((packages / f"{NAME}-{VERSION}-{target}.cyclonedx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == NAME
    listed = {(part["name"], part["version"]): part for part in bill["components"]}
    tree = run("cargo", "tree", "--locked", "--edges", "normal", "--target", target, "--prefix", "none", "--format", "{p}", cwd=ROOT)
    built_in = {tuple(re.match(r"(\S+) v(\S+)", line).groups()) for line in tree.splitlines()} - {(NAME, VERSION)}
    assert len(built_in) > 100 and built_in <= listed.keys(), built_in - listed.keys()
    without_licence = [name for name in built_in if not listed[name].get("licenses") or not listed[name].get("purl")]
    assert not without_licence, without_licence
    locked = {(package["name"], package["version"]) for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    assert listed.keys() <= locked, listed.keys() - locked


@pytest.fixture
def debian(packages):
    return next(packages.glob("*.deb"))


def test_the_debian_package_is_installed_and_removed(debian, tmp_path):
    field = lambda name: run("dpkg-deb", "--field", debian, name).strip()
    assert (field("Package"), field("Version"), field("Homepage"), field("Depends")) == (NAME, f"{VERSION}-1", REPOSITORY, "")
    assert field("Architecture") == run("dpkg", "--print-architecture").strip()
    root = tmp_path / "root"
    run("dpkg-deb", "--extract", debian, root)
    shared = {name.replace("zsh/site-functions", "zsh/vendor-completions") for name in MADE}
    expected = {f"usr/{name}.gz" if "/man/" in name else f"usr/{name}" for name in shared}
    expected |= {"usr/bin/oomdoc", "usr/share/lintian/overrides/oomdoc"}
    expected |= {f"usr/share/doc/oomdoc/{name}" for name in ("changelog.gz", "changelog.Debian.gz", "copyright")}
    assert files(root) == expected
    works(root / "usr/bin/oomdoc")
    assert b".TH oomdoc 1" in gzip.decompress((root / "usr/share/man/man1/oomdoc.1.gz").read_bytes())
    assert "Permission is hereby granted" in (root / "usr/share/doc/oomdoc/copyright").read_text()
    if os.geteuid() == 0:
        # Install it with dpkg itself into an empty system.
        system = tmp_path / "system"
        (system / "var/lib/dpkg/info").mkdir(parents=True)
        (system / "var/lib/dpkg/updates").mkdir()
        (system / "var/lib/dpkg/status").write_text("")
        run("dpkg", f"--root={system}", "--force-not-root", "--install", debian)
        works(system / "usr/bin/oomdoc")
        run("dpkg", f"--root={system}", "--force-not-root", "--purge", NAME)
        assert not (system / "usr/bin/oomdoc").exists()


def test_completions_are_loaded_by_their_shell(debian, tmp_path):
    run("dpkg-deb", "--extract", debian, tmp_path)
    script = f"""
        source '{tmp_path}/usr/share/bash-completion/completions/oomdoc'
        complete -p oomdoc
        COMP_WORDS=(oomdoc ana) COMP_CWORD=1
        _oomdoc oomdoc ana oomdoc
        echo "${{COMPREPLY[@]}}"
    """
    said = run("bash", "-euc", script)
    assert "_oomdoc" in said.splitlines()[0] and said.splitlines()[1] == "analyze", said


def test_the_formula_names_the_archives_that_are_there(packages, target):
    formula = (packages / "oomdoc.rb").read_text()
    assert f'homepage "{REPOSITORY}"' in formula and f'version "{VERSION}"' in formula
    urls = dict(re.findall(r'url "(.*)"\n\s+sha256 "(.*)"', formula))
    prefix = f"{REPOSITORY}/releases/download/v{VERSION}/"
    for url, digest in urls.items():
        assert hashlib.sha256((packages / url.removeprefix(prefix)).read_bytes()).hexdigest() == digest, url
    # The formula must not offer an archive of a target that exists only for tests.
    assert (prefix + archive_name(target) in urls) == target.endswith("-musl")


@needs_all
def test_the_formula_is_ruby_and_installs_the_archive(packages, target, tmp_path):
    """Homebrew is not available everywhere; the few functions that a formula calls are replaced here."""
    run("ruby", "-wc", packages / "oomdoc.rb")
    with tarfile.open(packages / archive_name(target)) as archive:
        archive.extractall(tmp_path, filter="data")
    answers = ROOT / "packaging/tests/formula.rb"
    system = "linux" if "linux" in target else "macos"
    cpu = "intel" if target.startswith("x86_64") else "arm"
    said = run("ruby", answers, packages / "oomdoc.rb", system, cpu, cwd=tmp_path / f"{NAME}-{VERSION}-{target}")
    assert MADE <= {f"share/{name}" for name in re.findall(r"share/(\S+)", said)} and "bin/oomdoc" in said, said


@needs_all
def test_manual_pages_are_read_without_a_complaint(debian, tmp_path):
    run("dpkg-deb", "--extract", debian, tmp_path)
    pages = sorted((tmp_path / "usr/share/man/man1").iterdir())
    assert len(pages) > 20
    for page in pages:
        said = subprocess.run(["man", "--warnings", "--local-file", page], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert said.returncode == 0 and "oomdoc" in said.stdout and not said.stderr, (page.name, said.stderr)


@needs_all
def test_debians_own_linter_finds_no_error(debian):
    run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", debian)


@needs_all
def test_the_container_image_runs(packages, target, tmp_path):
    """Runs the image with buildah, with nothing from the host but a folder of logs."""
    environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
    storage = ["--root", tmp_path / "images", "--runroot", tmp_path / "run"]
    containers = tmp_path / "storage.conf"
    containers.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/images"\nrunroot = "{tmp_path}/run"\n')
    environment["CONTAINERS_STORAGE_CONF"] = str(containers)
    name = "localhost/oomdoc-test"
    run(ROOT / "packaging/container", packages, name, env=environment)
    buildah = lambda *words: run("buildah", *storage, *words, env=environment)
    container = buildah("from", "--pull-never", name).strip()
    try:
        about = json.loads(buildah("inspect", container))["OCIv1"]
        assert about["config"]["Entrypoint"] == ["/usr/bin/oomdoc"] and about["config"]["User"] == "65532:65532"
        assert about["config"]["Labels"]["org.opencontainers.image.version"] == VERSION
        assert about["config"]["Labels"]["org.opencontainers.image.source"] == REPOSITORY
        assert about["architecture"] == {"x86_64": "amd64", "aarch64": "arm64"}[target.split("-")[0]]
        volume = f"{ROOT}/corpus/llama3-8b-optimizer-step:/logs:ro"
        said = buildah("run", "--isolation", "chroot", "--volume", volume, container, "--", "/usr/bin/oomdoc", "analyze", "--brief", "job.log")
        assert said.startswith("GPU out of memory in the optimizer step"), said
        kept = buildah("run", "--isolation", "chroot", container, "--", "/usr/bin/oomdoc", "history", "list")
        assert "gpu_oom" in kept, kept
    finally:
        buildah("rm", container)
