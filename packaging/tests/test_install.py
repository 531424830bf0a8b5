"""Tests install.sh: from servers and folders, and with everything that can go wrong."""

import os
import shutil
import subprocess
import tarfile

import pytest
from conftest import ROOT, files
from project import VERSION, archive_name

NOTHING = "oomdoc: nothing was installed"


def version(prefix):
    return subprocess.run([prefix / "bin/oomdoc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def refused(done, prefix, why):
    assert done.returncode == 1, done.stderr
    assert why in done.stderr and NOTHING in done.stderr, done.stderr
    assert files(prefix) == set(), files(prefix)


def test_it_installs_from_a_server_what_the_archive_holds(install, address, target, tmp_path):
    done = install(OOMDOC_MIRROR=address)
    assert done.returncode == 0, done.stderr
    prefix = tmp_path / "home/.local"
    assert version(prefix) == f"oomdoc {VERSION}"
    assert {"bin/oomdoc", "share/man/man1/oomdoc.1", "share/bash-completion/completions/oomdoc"} <= files(prefix)
    for said in (f"{VERSION} is installed as {prefix}/bin/oomdoc", f"verified: {archive_name(target)} has the SHA-256", "not on your PATH"):
        assert said in done.stdout, done.stdout
    # Only the installed files are left, and a second run works as well.
    assert {path.name for path in prefix.iterdir()} == {"bin", "share"}
    assert install(OOMDOC_MIRROR=address).returncode == 0


def test_a_folder_is_a_mirror_too(install, mirror, tmp_path):
    prefix = tmp_path / "a prefix"
    done = install(OOMDOC_MIRROR=f"{mirror}/", PREFIX=prefix, PATH=f"{os.environ['PATH']}:{prefix}/bin")
    assert done.returncode == 0, done.stderr
    assert version(prefix) == f"oomdoc {VERSION}" and "PATH" not in done.stdout


def test_a_version_and_a_digest_may_be_asked_for(install, mirror, tmp_path):
    prefix = tmp_path / "prefix"
    wanted = archive_name(os.environ["OOMDOC_TARGET"])
    digest = next(line.split()[0] for line in (mirror / "SHA256SUMS").read_text().splitlines() if line.endswith(wanted))
    done = install(OOMDOC_MIRROR=mirror, PREFIX=prefix, OOMDOC_VERSION=f"v{VERSION}", OOMDOC_SHA256=digest)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(prefix)
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix, OOMDOC_VERSION="9.9.9"), prefix, "lists no archive of 9.9.9")
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix, OOMDOC_SHA256="0" * 64), prefix, "should have the SHA-256 000000")


def test_another_digest_is_refused_and_leaves_what_was_there(install, address, mirror, target, tmp_path):
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/oomdoc").write_text("the old one")
    archive = mirror / archive_name(target)
    archive.write_bytes(archive.read_bytes()[:-1] + b"?")
    done = install(OOMDOC_MIRROR=address, PREFIX=prefix)
    assert done.returncode == 1 and "it is damaged, or not ours" in done.stderr and NOTHING in done.stderr
    assert files(prefix) == {"bin/oomdoc"} and (prefix / "bin/oomdoc").read_text() == "the old one"


@pytest.mark.parametrize("cut", ["archive", "SHA256SUMS"])
def test_a_download_that_breaks_off_is_refused(install, address, mirror, target, tmp_path, cut):
    name = archive_name(target) if cut == "archive" else cut
    content = (mirror / name).read_bytes()
    (mirror / f"cut-{name}").write_bytes(content[: len(content) // 2])
    refused(install(OOMDOC_MIRROR=address, PREFIX=tmp_path / "prefix"), tmp_path / "prefix", f"could not get {address}/{name}")


def test_an_archive_that_is_cut_where_it_lies_is_refused(install, mirror, target, tmp_path):
    archive = mirror / archive_name(target)
    archive.write_bytes(archive.read_bytes()[:100_000])
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=tmp_path / "prefix"), tmp_path / "prefix", "it is damaged")


def test_a_list_that_is_no_list_is_refused(install, mirror, target, tmp_path):
    prefix = tmp_path / "prefix"
    (mirror / "SHA256SUMS").write_text("<html>Not found</html>\n")
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix), prefix, "lists no archive of any version")
    zeros = "0" * 64
    (mirror / "SHA256SUMS").write_text("".join(f"{zeros}  oomdoc-{version}-{target}.tar.gz\n" for version in ("1.0.0", "2.0.0")))
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix), prefix, "lists several versions")
    (mirror / "SHA256SUMS").write_text(f"{zeros}  ../oomdoc-{VERSION}-{target}.tar.gz\n")
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix), prefix, "lists no archive of any version")


def test_a_server_that_is_not_there_is_said(install, tmp_path):
    refused(install(OOMDOC_MIRROR="http://127.0.0.1:1", PREFIX=tmp_path / "prefix"), tmp_path / "prefix", "could not get http://127.0.0.1:1/")


def replaced(mirror, target, content):
    """Replaces the archive by one with `content` as its command and a correct digest."""
    folder = mirror / archive_name(target).removesuffix(".tar.gz")
    (folder / "bin").mkdir(parents=True)
    (folder / "share").mkdir()
    (folder / "bin/oomdoc").write_text(content)
    (folder / "bin/oomdoc").chmod(0o755)
    with tarfile.open(mirror / archive_name(target), "w:gz") as archive:
        archive.add(folder, folder.name)
    digest = subprocess.run(["sha256sum", mirror / archive_name(target)], capture_output=True, text=True, check=True).stdout[:64]
    (mirror / "SHA256SUMS").write_text(f"{digest}  {archive_name(target)}\n")


def test_a_command_that_does_not_run_here_is_not_installed(install, mirror, target, tmp_path):
    prefix = tmp_path / "prefix"
    replaced(mirror, target, "#!/bin/sh\nexit 126\n")
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix), prefix, "does not run on this machine")
    shutil.rmtree(mirror / archive_name(target).removesuffix(".tar.gz"))
    replaced(mirror, target, "#!/bin/sh\necho oomdoc 0.0.0\n")
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=prefix), prefix, "says that it is oomdoc 0.0.0")


def test_a_prefix_that_cannot_be_written_is_said(install, mirror, tmp_path):
    (tmp_path / "file").write_text("")
    done = install(OOMDOC_MIRROR=mirror, PREFIX=tmp_path / "file/prefix")
    assert done.returncode == 1 and "PREFIX names another folder" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Linux", "x86_64", "for x86_64-unknown-linux-musl"),
        ("Linux", "aarch64", "for aarch64-unknown-linux-musl"),
        ("Darwin", "arm64", "for aarch64-apple-darwin"),
        ("Darwin", "x86_64", "for x86_64-apple-darwin"),
        ("Linux", "riscv64", "there is no archive for Linux on riscv64"),
        ("MINGW64_NT-10.0", "x86_64", "pip install oomdoc"),
    ],
)
def test_machines_are_told_by_their_names(install, mirror, tmp_path, system, machine, expected):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uname").write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {machine}\n')
    (programs / "uname").chmod(0o755)
    (mirror / "SHA256SUMS").write_text("")
    path = f"{programs}:{os.environ['PATH']}"
    refused(install(OOMDOC_MIRROR=mirror, PREFIX=tmp_path / "prefix", OOMDOC_TARGET=None, PATH=path), tmp_path / "prefix", expected)


def test_a_script_that_is_cut_off_does_nothing(install, mirror, tmp_path):
    script = (ROOT / "packaging/install.sh").read_text()
    last = script.rindex('main "$@"')
    for end in range(0, last, 97):
        (tmp_path / "cut.sh").write_text(script[:end])
        install(tmp_path / "cut.sh", OOMDOC_MIRROR=mirror, PREFIX=tmp_path / "prefix")
        assert not (tmp_path / "prefix").exists(), script[:end]


def test_it_runs_with_wget_and_the_shells_of_small_systems(install, address, tmp_path):
    """Offers only what a minimal system has: no curl, no bash."""
    programs = tmp_path / "programs"
    programs.mkdir()
    names = "sh uname mktemp rm awk grep cut sha256sum tar gzip mkdir mv find cp cat wget".split()
    for name in names:
        assert (found := shutil.which(name)), name
        (programs / name).symlink_to(found)
    done = install(OOMDOC_MIRROR=address, PREFIX=tmp_path / "prefix", PATH=programs)
    assert done.returncode == 0, done.stderr
    assert version(tmp_path / "prefix") == f"oomdoc {VERSION}"
    (programs / "wget").unlink()
    refused(install(OOMDOC_MIRROR=address, PREFIX=tmp_path / "other", PATH=programs), tmp_path / "other", "neither curl nor wget")
