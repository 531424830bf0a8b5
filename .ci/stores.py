"""Tests `oomdoc` on a store: `.ci/stores.py GARAGE OOMDOC`, with a Python that has boto3."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import boto3
from botocore.config import Config

GARAGE, OOMDOC = sys.argv[1:]
ROOT = Path(__file__).resolve().parent.parent
CASES = ["llama3-8b-optimizer-step", "ray-actor-killed-by-kernel", "deepspeed-zero3-offload-killed"]
BUCKET = "job-logs"
# Only guards against hanging.
PATIENCE = 60.0
# Bytes of the large log; far less of it is in memory at a time.
LARGE = 128 << 20


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Store:
    """One node of Garage with one bucket and one key."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.key, self.secret = "GK" + secrets.token_hex(12), secrets.token_hex(32)
        settings = folder / "garage.toml"
        settings.write_text(
            f'metadata_dir = "{folder}/meta"\ndata_dir = "{folder}/data"\ndb_engine = "sqlite"\nreplication_factor = 1\n'
            f'rpc_bind_addr = "127.0.0.1:{free_port()}"\nrpc_secret = "{secrets.token_hex(32)}"\n'
            f'[s3_api]\ns3_region = "garage"\napi_bind_addr = "127.0.0.1:{self.port}"\n'
        )
        settings.chmod(0o600)
        told = {"GARAGE_CONFIG_FILE": str(settings), "GARAGE_DEFAULT_ACCESS_KEY": self.key, "GARAGE_DEFAULT_SECRET_KEY": self.secret, "GARAGE_DEFAULT_BUCKET": BUCKET}
        self.log = (folder / "garage.log").open("wb")
        command = [GARAGE, "server", "--single-node", "--default-bucket"]
        self.process = subprocess.Popen(command, env=os.environ | told, stdout=self.log, stderr=self.log)
        self.address = f"http://127.0.0.1:{self.port}"
        self.client = boto3.client(
            "s3",
            endpoint_url=self.address,
            region_name="garage",
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            config=Config(s3={"addressing_style": "path"}),
        )
        self.wait()

    def wait(self) -> None:
        begun = time.monotonic()
        while True:
            try:
                self.client.head_bucket(Bucket=BUCKET)
                return
            except Exception:
                if self.process.poll() is not None or time.monotonic() - begun > PATIENCE:
                    raise SystemExit("stores: Garage does not serve:\n" + (self.folder / "garage.log").read_text()[-3000:])
                time.sleep(0.1)

    def put(self, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def environment(self, **more: str) -> Dict[str, str]:
        left_out = ("AWS_", "OOMDOC_HOME", "HTTP", "http", "ALL_PROXY")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        told = {"AWS_ENDPOINT_URL": self.address, "AWS_REGION": "garage", "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret}
        return ours | told | more | {"OOMDOC_HOME": str(self.folder / "home")}

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


def run(environment: Dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([OOMDOC, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)


def report(environment: Dict[str, str], *inputs: str) -> Any:
    done = run(environment, "analyze", "--no-save", "--together", "--when", "2026-11-24", "--format", "json", *inputs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def renamed(value: Any, names: Dict[str, str]) -> Any:
    """`value` with every text that begins with a key of `names` changed to begin with its value."""
    if isinstance(value, dict):
        return {key: renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, str):
        for name, other in names.items():
            value = value.replace(name, other)
    return value


def logs(case: str) -> List[Path]:
    return sorted(path for path in (ROOT / "corpus" / case).iterdir() if path.suffix in (".log", ".sh", ".json", ".yaml"))


def test_objects_are_read_as_the_files_are(store: Store) -> None:
    for case in CASES:
        for path in logs(case):
            store.put(f"one/{case}/{path.name}", path.read_bytes())
        there = [f"s3://{BUCKET}/one/{case}/{path.name}" for path in logs(case)]
        here = [f"corpus/{case}/{path.name}" for path in logs(case)]
        told = renamed(report(store.environment(), *there), {f"s3://{BUCKET}/one/": "corpus/"})
        assert told == report(store.environment(), *here), case


def test_a_folder_is_read_as_the_folder_is(store: Store) -> None:
    case = CASES[1]
    for path in (path for path in (ROOT / "corpus").joinpath(case).rglob("*") if path.is_file()):
        store.put(f"folder/{path.relative_to(ROOT / 'corpus')}", path.read_bytes())
    told = report(store.environment(), f"s3://{BUCKET}/folder/{case}/")
    assert renamed(told, {f"s3://{BUCKET}/folder/": "corpus/"}) == report(store.environment(), f"corpus/{case}")


def test_names_that_need_care(store: Store) -> None:
    body = logs(CASES[0])[0].read_bytes()
    for name in ["run 7/rank=0+1.log", "日志/作业.log", "a%20b&c.log", "~user/(1).log"]:
        store.put(f"names/{name}", body)
        told = report(store.environment(), f"s3://{BUCKET}/names/{name}")
        assert told["verdict"] == "gpu_oom" and told["inputs"][0]["path"] == f"s3://{BUCKET}/names/{name}", name
    assert len(report(store.environment(), f"s3://{BUCKET}/names/")["inputs"]) == 4


def test_keys_of_folders(store: Store) -> None:
    body = logs(CASES[0])[0].read_bytes()
    for key, bytes_ in [("keys", b"another\n"), ("keys/", b""), ("keys/node1/", b""), ("keys/node1/job.log", body), ("keys//job.log", body)]:
        store.put(key, bytes_)
    done = run(store.environment(), "analyze", "--no-save", "--together", "--format", "json", f"s3://{BUCKET}/keys/")
    read = [given["path"] for given in json.loads(done.stdout)["inputs"]]
    assert read == [f"s3://{BUCKET}/keys//job.log", f"s3://{BUCKET}/keys/node1/job.log"], (read, done.stderr)


def test_packed_objects(store: Store) -> None:
    body = logs(CASES[0])[0].read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logs/job.log", body)
    plain = report(store.environment(), str(logs(CASES[0])[0]))
    for name, bytes_ in [("a.gz", gzip.compress(body)), ("a.xz", lzma.compress(body)), ("a.bz2", bz2.compress(body)), ("a.zip", packed.getvalue())]:
        store.put(f"packed/{name}", bytes_)
        told = report(store.environment(), f"s3://{BUCKET}/packed/{name}")
        causes = [diagnosis["cause"] for incident in told["incidents"] for diagnosis in incident["diagnoses"]]
        assert causes and causes == [diagnosis["cause"] for incident in plain["incidents"] for diagnosis in incident["diagnoses"]], name


def test_a_large_object_takes_little_memory(store: Store) -> None:
    line = b"step 1200 | loss 2.7182 | lr 3.0e-4 | grad norm 0.97 | tokens per second 5123\n"
    large = store.folder / "large.log"
    with large.open("wb") as file:
        block = line * (1 << 14)
        while file.tell() < LARGE:
            file.write(block)
        file.write(logs(CASES[0])[0].read_bytes())
    store.client.upload_file(str(large), BUCKET, "large/job.log")
    begun = time.monotonic()
    told = report(store.environment(), f"s3://{BUCKET}/large/job.log")
    took = time.monotonic() - begun
    assert renamed(told, {f"s3://{BUCKET}/large/job.log": str(large)}) == report(store.environment(), str(large))
    peaks = [peak(store, source) for source in (f"s3://{BUCKET}/large/job.log", str(large))]
    print(f"  {LARGE >> 20} MiB in {took:.1f} s; at most {peaks[0]} MiB of memory, of the file {peaks[1]}")
    assert peaks[0] < peaks[1] + 64, peaks


def peak(store: Store, source: str) -> int:
    """Peak memory of one analysis in MiB."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)"
    command = [sys.executable, "-c", code, OOMDOC, "analyze", "--no-save", source]
    return int(subprocess.run(command, env=store.environment(), check=True, capture_output=True, text=True).stdout)


def test_signed_addresses(store: Store) -> None:
    url = store.client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "large/job.log"})
    done = run({**store.environment(), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "analyze", "--no-save", "--format", "json", url)
    assert done.returncode == 0 and "Signature" not in done.stdout + done.stderr, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "gpu_oom" and told["inputs"][0]["path"] == url.split("?")[0]


def test_refusals_say_what_to_do(store: Store) -> None:
    secret = {"AWS_SECRET_ACCESS_KEY": secrets.token_hex(32)}
    for address, more, words in [
        (f"s3://{BUCKET}/one/missing.log", {}, "there is nothing at this address"),
        ("s3://no-such-bucket/a.log", {}, "there is no such bucket"),
        ("s3://no-such-bucket/", {}, "there is no such bucket"),
        (f"s3://{BUCKET}/nothing/here/", {}, "is a folder without a file in it"),
        (f"s3://{BUCKET}/one/missing.log", secret, "access is denied"),
        (f"s3://{BUCKET}/one/missing.log", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "set AWS_ACCESS_KEY_ID"),
        (f"s3://{BUCKET}/one/missing.log", {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}, "cannot be reached"),
    ]:
        done = run(store.environment(**more), "analyze", "--no-save", address)
        assert done.returncode == 2 and words in done.stderr and address in done.stderr, (address, done.stderr)
        assert store.secret not in done.stderr


def test_a_digest_of_objects(store: Store) -> None:
    store.put("digest/job.log", logs(CASES[0])[0].read_bytes())
    digest = store.folder / "node.digest"
    done = run(store.environment(), "digest", "--node", "a", "-o", str(digest), f"s3://{BUCKET}/digest/job.log")
    assert done.returncode == 0, done.stderr
    merged = run(store.environment(), "merge", "--format", "json", str(digest))
    assert json.loads(merged.stdout)["verdict"] == "gpu_oom", merged.stderr


def main() -> None:
    tests: List[Callable[[Store], None]] = [test for name, test in sorted(globals().items()) if name.startswith("test_")]
    with tempfile.TemporaryDirectory(prefix="oomdoc-stores-") as folder:
        store: Optional[Store] = None
        try:
            store = Store(Path(folder))
            for test in tests:
                begun = time.monotonic()
                test(store)
                print(f"stores: {test.__name__.removeprefix('test_')}: {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            if store is not None:
                store.stop()


main()
