"""Runs what users run in their pipelines, in the same way: the action, the GitLab component, the pre-commit hook."""

import os
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import ROOT
from project import REPOSITORY, VERSION

LOG = ROOT / "corpus/llama3-8b-optimizer-step/job.log"


def bash(script, folder, variables):
    """Runs a step as runners do: bash with -e and pipefail, and only the environment variables that they set."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "OOMDOC_HOME": str(folder / "history"), **variables}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


class Action:
    """The steps of action.yml with these inputs, in a folder with a log. It evaluates only the expressions that the action uses."""

    def __init__(self, folder, **inputs):
        self.action = yaml.safe_load((ROOT / "action.yml").read_text())
        defaults = {name: about.get("default", "") for name, about in self.action["inputs"].items()}
        assert inputs.keys() <= defaults.keys()
        self.values = {f"inputs.{name}": value for name, value in {**defaults, **inputs}.items()}
        self.folder, self.said, self.code = folder, "", 0
        shutil.copy(LOG, folder / "job.log")

    def value(self, expression):
        known = [self.values.get(term.strip(), "") for term in expression.split("||")]
        return next((value for value in known if value), "")

    def filled(self, text):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: self.value(match[1]), text)

    def holds(self, condition):
        terms = [re.fullmatch(r"\s*(\S+) (==|!=) ''\s*", term) for term in condition.split("||")]
        return any((self.value(term[1]) == "") == (term[2] == "==") for term in terms)

    def run(self):
        for step in self.action["runs"]["steps"]:
            if "if" in step and not self.holds(step["if"]):
                continue
            output = self.folder / f"output-{step['id']}"
            variables = {name: self.filled(value) for name, value in step["env"].items()}
            variables |= {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "GITHUB_WORKSPACE": str(self.folder)}
            variables |= {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.folder / "temporary")}
            done = bash(step["run"], self.folder, variables)
            self.said, self.code = self.said + done.stdout + done.stderr, done.returncode
            lines = output.read_text().splitlines() if output.exists() else []
            for name, value in (line.split("=", 1) for line in lines):
                self.values[f"steps.{step['id']}.outputs.{name}"] = value
            if self.code:
                break
        return {name: self.filled(about["value"]) for name, about in self.action["outputs"].items()}


@pytest.fixture
def of_target(monkeypatch, tmp_path, target):
    """Makes install.sh take the target that was packed; on a runner it finds the target with uname."""
    variables = {"OOMDOC_TARGET": target}
    original = bash
    monkeypatch.setitem(globals(), "bash", lambda script, folder, given: original(script, folder, {**variables, **given}))


def test_the_action_installs_its_own_version_and_reports(of_target, address, tmp_path):
    action = Action(tmp_path, mirror=address, paths="job.log\n", comment="false")
    outputs = action.run()
    assert action.code == 0, action.said
    assert f"{VERSION} is installed as {tmp_path}/temporary/oomdoc/bin/oomdoc" in action.said and "verified:" in action.said
    assert outputs["verdict"] == "gpu_oom" and outputs["cause"] == "optimizer_states_on_gpu", outputs
    assert (tmp_path / outputs["report-path"]).is_file() and (tmp_path / outputs["sarif-path"]).is_file()


def test_the_action_takes_a_program_that_is_there(of_target, packages, address, install, tmp_path):
    assert install(OOMDOC_MIRROR=address, PREFIX=tmp_path / "prefix").returncode == 0
    program = str(tmp_path / "prefix/bin/oomdoc")
    action = Action(tmp_path, oomdoc=program, mirror="http://127.0.0.1:1", paths="job.log", **{"fail-on": "gpu_oom"}, comment="false")
    assert action.run()["verdict"] == "gpu_oom" and action.code == 1, action.said


@pytest.mark.parametrize(
    "wrong", [{"sha256": "0" * 64}, {"version": "9.9.9"}, {"mirror": "http://127.0.0.1:1"}], ids=lambda wrong: "".join(wrong)
)
def test_an_action_that_cannot_install_leaves_the_jobs_result_alone(of_target, address, tmp_path, wrong):
    action = Action(tmp_path, **{"mirror": address, "paths": "job.log", **wrong})
    outputs = action.run()
    assert action.code == 0 and "::warning title=oomdoc::" in action.said and set(outputs.values()) == {""}, action.said
    # A user who asked for a failure must not be told that all is well.
    action = Action(tmp_path, **{"mirror": address, "paths": "job.log", "fail-on": "any", **wrong})
    action.run()
    assert action.code == 1, action.said


class Component:
    """templates/triage/template.yml with these inputs filled in, as GitLab does before it parses the rest."""

    def __init__(self, **inputs):
        header, body = (ROOT / "templates/triage/template.yml").read_text().split("\n---\n")
        defaults = {name: about["default"] for name, about in yaml.safe_load(header)["spec"]["inputs"].items()}
        assert inputs.keys() <= defaults.keys()
        self.header, self.inputs = header, {**defaults, **inputs}
        self.body = re.sub(r"\$\[\[ inputs\.(\S+) \]\]", lambda match: self.inputs[match[1]], body)
        self.job = yaml.safe_load(self.body)[self.inputs["job"]]

    def after_script(self, folder):
        shutil.copy(LOG, folder / "job.log")
        script = "\n".join(self.job["after_script"])
        variables = {"GITLAB_CI": "true", "CI_JOB_STATUS": "failed", "CI_PROJECT_DIR": str(folder)}
        return bash(script, folder, {**variables, **self.job["variables"]})


def test_the_component_installs_and_reports(of_target, address, tmp_path):
    component = Component(mirror=address, paths="job.log", arguments="--lang zh --no-comment")
    done = component.after_script(tmp_path)
    assert done.returncode == 0 and "verified:" in done.stdout, done.stdout + done.stderr
    assert {path.name for path in (tmp_path / "oomdoc-report").iterdir()} >= {"report.json", "report.html", "report.md", "report.sarif"}
    assert component.job["artifacts"]["paths"] == ["oomdoc-report/"]
    # A variable set by the job itself takes effect.
    component.job["variables"] |= {"OOMDOC_PROGRAM": "/nowhere/oomdoc"}
    assert component.after_script(tmp_path).returncode != 0


def test_the_component_verifies(of_target, address, tmp_path):
    done = Component(mirror=address, paths="job.log", sha256="0" * 64).after_script(tmp_path)
    assert done.returncode != 0 and "should have the SHA-256 000000" in done.stderr
    assert not (tmp_path / "oomdoc-report").exists()


def test_the_component_is_valid_gitlab_ci(tmp_path):
    """Validates against GitLab's published schema. It accepts anything in a hidden job, so the component is checked as a job that runs."""
    component = Component(paths="job.log", job="train")
    pipeline = component.body + "\n  script: [bash launch.sh]\n"
    for name, text in (("header.yml", component.header), ("pipeline.yml", pipeline)):
        (tmp_path / name).write_text(text)
    check = ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]
    done = subprocess.run([*check, "header.yml", "pipeline.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "pipeline.yml").write_text(pipeline.replace("when: always", "when: perhaps"))
    assert subprocess.run([*check, "pipeline.yml"], cwd=tmp_path, capture_output=True).returncode == 1


def test_versions_and_addresses_are_those_of_the_manifest():
    assert Component().inputs["version"] == VERSION
    addresses = set()
    for path in (ROOT / "templates/triage/template.yml", ROOT / "packaging/install.sh", ROOT / "docs/ci.md", ROOT / "docs/install.md"):
        addresses |= set(re.findall(r"https://github\.com/[\w.-]+/oomdoc\b", path.read_text()))
    assert addresses == {REPOSITORY}
    # Examples that pin a version must pin this one.
    for page in (ROOT / "docs/ci.md", ROOT / "docs/install.md"):
        assert set(re.findall(r"\d+\.\d+\.\d+(?=\b)", page.read_text())) <= {VERSION}, page


def git(folder, *words):
    author = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif("OOMDOC_ALL" not in os.environ, reason=".ci/packages --all")
@pytest.mark.parametrize("hook", ["oomdoc-rules", "oomdoc-rules-system"])
def test_the_hook_checks_rules_by_pre_commit(hook, address, install, target, tmp_path):
    """Runs pre-commit itself, with this checkout as the repository of hooks and a mirror for the release."""
    ours, theirs = tmp_path / "hooks", tmp_path / "theirs"
    for name in ("Cargo.toml", ".pre-commit-hooks.yaml", "packaging/install.sh", "packaging/pre-commit"):
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, ours / name)
    git(ours, "init", "--quiet")
    git(ours, "add", "--all")
    git(ours, "commit", "--quiet", "--message", "hooks")
    git(ours, "tag", f"v{VERSION}")
    theirs.mkdir()
    assert install(OOMDOC_MIRROR=address, PREFIX=tmp_path / "prefix").returncode == 0
    oomdoc = tmp_path / "prefix/bin/oomdoc"
    subprocess.run([oomdoc, "rules", "new", "arena_full"], cwd=theirs, check=True, capture_output=True)
    rule = theirs / "my-rules/causes/arena_full.toml"
    config = {"repos": [{"repo": str(ours), "rev": f"v{VERSION}", "hooks": [{"id": hook}]}]}
    (theirs / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(theirs, "init", "--quiet")
    git(theirs, "add", "--all")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "OOMDOC_MIRROR": address, "OOMDOC_TARGET": target}
    environment |= {"HOME": str(tmp_path), "OOMDOC_HOME": str(tmp_path / "home")}
    if hook.endswith("-system"):
        environment["PATH"] = f"{oomdoc.parent}:{environment['PATH']}"
    check = lambda: subprocess.run(["pre-commit", "run", "--all-files"], cwd=theirs, env=environment, capture_output=True, text=True)
    done = check()
    assert done.returncode == 0 and "Passed" in done.stdout, done.stdout + done.stderr
    rule.write_text("no_such_key = 1\n" + rule.read_text())
    done = check()
    assert done.returncode == 1 and "no_such_key" in done.stdout, done.stdout + done.stderr
