"""Loads a history into a server that speaks OpenSearch's interface, and searches it there: `.ci/bulk.py OOMDOC`.

What the server answers is compared with what `oomdoc history` says of the same incidents: each document, counts by kind and cause,
words in the evidence, ranges of figures; after a first load, after one that changed nothing, and after incidents were resolved, tagged,
removed and added.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List

from opensearchpy import OpenSearch
from osmem_server import OsmemServer

OOMDOC = Path(sys.argv[1])
ROOT = Path(__file__).resolve().parent.parent
INDEX = "oomdoc-incidents"
# An address that docs/history.md has only as an example.
EXAMPLE = "https://opensearch.example.org:9200"


def block(page: str, language: str, which: str) -> str:
    """The code block of that language in docs/history.md that contains `which`."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (found,) = [each for each in blocks if which in each]
    return found


class Check:
    """A home, a server, and how one is loaded into the other."""

    def __init__(self, folder: Path, url: str) -> None:
        page = (ROOT / "docs/history.md").read_text()
        self.script = block(page, "shell", "_bulk").replace(EXAMPLE, url)
        assert url in self.script, "the page's script names another address"
        self.query = json.loads(block(page, "json", "aggs"))
        self.folder, self.client = folder, OpenSearch(hosts=[url])
        path = f"{OOMDOC.parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "OOMDOC_HOME": str(folder / "home"), "OOMDOC_NO_CONFIG": "1", "OOMDOC_LANG": "en", "PATH": path}

    def oomdoc(self, *arguments: str) -> str:
        return subprocess.run([OOMDOC, *arguments], env=self.environment, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    def keep(self, cases: List[Path]) -> None:
        for case in cases:
            # Reports say by their exit status what they found.
            subprocess.run([OOMDOC, "analyze", case, "--brief"], env=self.environment, check=False, capture_output=True)
        # What the last ones left waiting moves into the store, so that it is not exported again from there.
        self.oomdoc("history", "compact")

    def load(self) -> int:
        """Runs the page's script; returns how many lines it loaded."""
        subprocess.run(["bash", "-c", self.script], env=self.environment, cwd=self.folder, check=True, capture_output=True)
        self.client.indices.refresh(index=INDEX)
        return len((self.folder / "batch.ndjson").read_text().splitlines())

    def here(self, query: str) -> List[Dict[str, Any]]:
        """What oomdoc finds, newest first."""
        return json.loads(self.oomdoc("history", "search", query, "--sort", "time", "--limit", "1000", "--format", "json"))["incidents"]

    def there(self, query: Dict[str, Any]) -> List[str]:
        """The ids that the server finds."""
        found = self.client.search(index=INDEX, body={"size": 1000, "query": query})
        return sorted(hit["_id"] for hit in found["hits"]["hits"])

    def agrees(self) -> int:
        """Compares all that is kept; returns how many incidents that are."""
        kept = {record["incident"]["id"]: record for line in self.oomdoc("history", "export").splitlines() if (record := json.loads(line).get("incident"))}
        loaded = {hit["_id"]: hit["_source"] for hit in self.client.search(index=INDEX, body={"size": 1000})["hits"]["hits"]}
        assert kept.keys() == loaded.keys(), kept.keys() ^ loaded.keys()
        for name, record in kept.items():
            incident, document = record["incident"], loaded[name]
            assert (document["kind"], document["phase"]) == (incident["kind"], incident["phase"]["name"]), document
            said = {figure["name"]: figure["bytes"] for figure in reversed(incident["figures"]) if figure.get("bytes") is not None}
            assert document.get("bytes", {}) == said, (document.get("bytes"), said)
        counts = {"kinds": {"terms": {"field": "kind", "size": 100}}, "causes": {"terms": {"field": "cause", "size": 100}}}
        counted = self.client.search(index=INDEX, body={"size": 0, "aggs": counts})["aggregations"]
        for name, of in [("kinds", "kind"), ("causes", "cause")]:
            expected = Counter(document[of] for document in loaded.values())
            assert {bucket["key"]: bucket["doc_count"] for bucket in counted[name]["buckets"]} == expected, (counted[name], expected)
        for query, asked in [
            ("kind:gpu_oom", {"term": {"kind": "gpu_oom"}}),
            ("phase:optimizer_step requested:>2GiB", {"bool": {"filter": [{"term": {"phase": "optimizer_step"}}, {"range": {"bytes.requested": {"gt": 2 << 30}}}]}}),
            ("is:resolved", {"term": {"state": "resolved"}}),
            ("tag:nightly", {"term": {"tags": "nightly"}}),
            ("since:1d", {"range": {"@timestamp": {"gte": "now-1d"}}}),
        ]:
            ours, theirs = sorted(each["id"] for each in self.here(query)), self.there(asked)
            assert ours == theirs, (query, ours, theirs)
        return len(kept)


def main() -> None:
    cases = sorted(case for case in (ROOT / "corpus").iterdir() if case.is_dir())
    with tempfile.TemporaryDirectory() as temporary, OsmemServer.start() as server:
        check = Check(Path(temporary), server.url)
        first, later = cases[::2], cases[1::2]
        check.keep(first)
        check.oomdoc("history", "export", "--template", str(check.folder / "template.json"))
        assert check.load() > 0
        begun = check.agrees()
        mapping = check.client.indices.get_mapping(index=INDEX)[INDEX]["mappings"]
        assert mapping["properties"]["bytes"]["properties"]["requested"] == {"type": "long"}, "the template was not taken"

        assert check.load() == 0, "what is loaded already was loaded again"
        check.agrees()

        optimizer = check.here("phase:optimizer_step")[0]["id"]
        check.oomdoc("history", "resolve", optimizer, "--did", "a larger node", "--worked")
        check.oomdoc("history", "tag", check.here("kind:gpu_oom")[0]["id"], "nightly")
        check.oomdoc("history", "prune", "--keep-incidents", str(begun - 3))
        check.keep(later)
        assert check.load() > 0
        whole = check.agrees()
        assert check.here("is:resolved") and check.here("tag:nightly"), "nothing was said of any incident"

        # The page's own query.
        answer = check.client.search(index=INDEX, body=check.query)
        causes = {bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"]["causes"]["buckets"]}
        asked = Counter(each["cause"] for each in check.here('phase:optimizer_step requested:>2GiB "out of memory"'))
        assert causes == asked and asked, (causes, asked)

        # The server must be able to refuse.
        wrong = check.client.bulk(body=[{"index": {"_index": INDEX, "_id": "wrong"}}, {"@timestamp": "yesterday"}])
        assert wrong["errors"], "the server takes what no engine takes"
    print(f"bulk: {begun} incidents loaded and searched, then {whole} after changes")


main()
