"""Runs jobs that really run out of memory, or do not, under `oomdoc run`, and judges the reports with and without the kernel's log.

`.ci/jobs.py OOMDOC PYTHON [NAME…]` as root: it makes cgroups and mounts. PYTHON has torch and Ray.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

OOMDOC, PYTHON, *ONLY = sys.argv[1:]
# Seconds that the slow leak takes.
SLOW = float(os.environ.get("OOMDOC_SLOW_LEAK", "45"))
MIB = 1 << 20

MODEL = """
    import os, sys, time, torch
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    def step(number):
        loss = model(torch.randn(8, 256)).square().mean()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        print(f"step {number} loss {loss.item():.4f}", flush=True)
"""
JOBS = {
    # name: (script, limit of its cgroup in MiB, shell commands before it, expected report)
    "leak": (MODEL + """
    kept = []
    for number in range(100000):
        step(number); kept.append(torch.ones(4 << 20)); time.sleep(0.05)
    """, 900, "", {"kind": "host_oom_cgroup", "victim": "python", "cause": {"host_memory_growth"}}),
    "slow_leak": (MODEL + f"""
    kept = []
    for number in range(100000):
        step(number); kept.append(torch.ones(1 << 20)); time.sleep({SLOW} / 120)
    """, 900, "", {"kind": "host_oom_cgroup", "victim": "python", "cause": {"host_memory_growth"}}),
    "rlimit": (MODEL + """
    kept = []
    for number in range(100000):
        step(number); kept.append(torch.ones(8 << 20)); time.sleep(0.05)
    """, None, "ulimit -v 3000000; ", {"kind": "host_alloc_failure", "victim": None, "cause": {"host_memory_growth", "container_limit_too_small"}}),
    "stranger": (MODEL + """
    for number in range(100000):
        step(number); time.sleep(0.1)
    """, 900, "", {"kind": "none", "other": "cancelled"}),
    "worker": (MODEL + """
    class Texts(torch.utils.data.Dataset):
        kept = []
        def __len__(self): return 1000000
        def __getitem__(self, at):
            self.kept.append(bytearray(1 << 20)); time.sleep(0.005); return torch.zeros(256)
    if __name__ == "__main__":
        for number, batch in enumerate(torch.utils.data.DataLoader(Texts(), batch_size=8, num_workers=1)):
            step(number)
    """, 1500, "", {"kind": "host_oom_cgroup", "victim": "pt_data_worker", "cause": {"dataloader_memory", "host_memory_growth"}}),
    "shm": (MODEL + """
    class Images(torch.utils.data.Dataset):
        def __len__(self): return 1000000
        def __getitem__(self, at): return torch.ones(3, 512, 512)
    if __name__ == "__main__":
        for number, batch in enumerate(torch.utils.data.DataLoader(Images(), batch_size=16, num_workers=4)):
            step(number); time.sleep(0.2)
    """, None, "mount -t tmpfs -o size=64m tmpfs /dev/shm; ", {"kind": "shm_exhausted", "victim": None, "cause": {"shm_too_small"}}),
    "gather": (MODEL + """
    big = torch.nn.Linear(4096, 4096)
    for number in range(20):
        step(number)
    print("Saving model checkpoint to out/checkpoint-20", flush=True)
    time.sleep(1.5)
    shards = []
    for rank in range(64):
        # Each rank's part of the state, gathered to this one.
        shards.append({name: value.detach().clone() for name, value in big.state_dict().items()}); time.sleep(0.02)
    torch.save(shards, "out.pt")
    """, 1100, "", {"kind": "host_oom_cgroup", "victim": "python", "cause": {"checkpoint_save_gather"}}),
    "ray": ("""
    import os, time, ray, psutil
    memory = psutil.virtual_memory()
    # What is in use, and 1.5 GiB more.
    os.environ["RAY_memory_usage_threshold"] = str((memory.total - memory.available + (3 << 29)) / memory.total)
    os.environ["RAY_memory_monitor_refresh_ms"] = "100"
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=True)
    @ray.remote(max_retries=0)
    def generate_rollouts():
        kept = []
        for number in range(400):
            kept.append(bytearray(os.urandom(1 << 20) * 16)); time.sleep(0.02)
    ray.get(generate_rollouts.remote())
    """, None, "", {"kind": "host_oom_ray", "victim": None, "cause": None}),
}


class Cgroup:
    """A cgroup of version 1 or 2 with a limit."""

    def __init__(self, name, mebibytes):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        root = v1 if v1.is_dir() else pathlib.Path("/sys/fs/cgroup")
        self.folder = root / f"oomdoc-{name}-{os.getpid()}"
        self.folder.mkdir()
        limit = "memory.limit_in_bytes" if v1.is_dir() else "memory.max"
        (self.folder / limit).write_text(str(mebibytes * MIB))

    def remove(self):
        for pid in (self.folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


def kernel_log():
    return subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines()


def kill_as_a_stranger(folder):
    """Kills the job's Python from outside once it has made some steps."""
    for _ in range(600):
        time.sleep(0.1)
        log = folder / "job.log"
        if log.exists() and b"step 20" in log.read_bytes():
            break
    own = subprocess.run(["pgrep", "-f", str(folder / "train.py")], capture_output=True, text=True).stdout.split()
    for pid in own:
        if b"python" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
            os.kill(int(pid), signal.SIGKILL)


def run(name):
    """Runs the job under `oomdoc run` and judges the reports without and with the kernel's log."""
    script, limit, before, expected = JOBS[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "train.py").write_text(textwrap.dedent(script))
        cgroup = Cgroup(name, limit) if limit else None
        join = f"echo $$ > {cgroup.folder}/cgroup.procs; " if cgroup else ""
        env = dict(os.environ, OOMDOC_HOME=str(folder / "home"), OOMDOC_NO_CONFIG="1", OOMDOC_LANG="en")
        job = ["sh", "-c", f"{join}{before}exec {PYTHON} {folder}/train.py"]
        command = [OOMDOC, "run", "--log", "job.log", "--no-save", "--interval", "0.5", "--", *job]
        # The job gets a /dev/shm of its own.
        command = ["unshare", "-m", "--propagation", "private", *command]
        lines = len(kernel_log())
        stranger = threading.Thread(target=kill_as_a_stranger, args=[folder])
        if name == "stranger":
            stranger.start()
        subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=900)
        if name == "stranger":
            stranger.join()
        time.sleep(0.5)
        (folder / "dmesg.log").write_text("\n".join(kernel_log()[lines:]) + "\n")
        if cgroup:
            cgroup.remove()
        said = {}
        for inputs in (["job.log", "job.record"], ["job.log", "job.record", "dmesg.log"]):
            analyze = [OOMDOC, "analyze", "--no-save", "--format", "json", *inputs]
            report = subprocess.run(analyze, cwd=folder, env=env, capture_output=True, text=True, check=True)
            said["with dmesg" if len(inputs) == 3 else "without"] = json.loads(report.stdout)
        keep = os.environ.get("OOMDOC_KEEP")
        if keep:
            subprocess.run(["cp", "-r", str(folder), f"{keep}/{name}"], check=True)
        return {how: judge(report, expected, limit) for how, report in said.items()}


def judge(report, expected, limit):
    """Which parts of `expected` the report gets right."""
    right = {"kind": report["verdict"] == expected["kind"]}
    told = report["verdict"]
    if "other" in expected:
        right["other"] = (report["other_failure"] or {}).get("name") == expected["other"]
        return right, told
    incident = (report["incidents"] or [{}])[0]
    if expected["victim"]:
        role = (incident.get("victim") or {}).get("role") or ""
        right["victim"] = expected["victim"] in role
        told += f", {role}"
    if limit:
        limits = [figure["bytes"] for figure in incident.get("figures", []) if figure["name"] == "memcg_limit"]
        right["limit"] = limit * MIB in limits
    cause = (incident.get("diagnoses") or [{}])[0].get("cause")
    if expected["cause"]:
        right["cause"] = cause in expected["cause"]
    return right, f"{told}, {cause}"


def main():
    causes, wrong = [], 0
    for name in ONLY or JOBS:
        for how, (right, told) in run(name).items():
            causes.append(right.pop("cause", True))
            wrong += sum(not is_right for is_right in right.values())
            faults = [what for what, is_right in right.items() if not is_right]
            faults += [] if causes[-1] else ["cause"]
            print(f"{name:10} {how:10} {told:60} {'wrong: ' + ', '.join(faults) if faults else 'right'}", flush=True)
    share = sum(causes) / len(causes)
    print(f"cause right in {share:.2f}, {wrong} other faults")
    sys.exit(1 if wrong or share < 0.9 else 0)


if __name__ == "__main__":
    main()
