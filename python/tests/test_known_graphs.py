"""The graph of each page with known answers, as Chromium loads it, is what the standards say."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import need
from known_answers import ROOT, Answers
from known_graph import Graph
from known_server import EXPECTED, serving, url
from loadstone.recording.archive import Archive, trace_of
from loadstone.recording.graph import graph_of
from loadstone.recording.recorder import Order, record
from loadstone.recording.visit import Patience

PATIENCE = Patience(load_s=20, settle_s=0.5)
FAVICON = re.compile(r"http://[^/]+/favicon\.ico")


@pytest.fixture(scope="module")
def recorded() -> Iterator[Archive]:
    """Record all pages in one browser."""
    program = need("chromium")
    with serving() as switches:
        urls = [start(name) for name in EXPECTED]
        made = record(program, Order(urls, patience=PATIENCE, switches=switches))
    assert not made.failed
    yield made.archive


def start(name: str) -> str:
    return url(name, EXPECTED[name].get("start", ROOT))


class Checker:
    """Compares a graph with the answers, and keeps what differs."""

    def __init__(self, graph: Graph, answers: Answers) -> None:
        self.graph = graph
        self.answers = answers
        self.wrong: list[str] = []

    def expect(self, holds: bool, what: str, node: str | None = None) -> None:
        if not holds:
            story = "" if node is None else "\n" + indented(self.graph.story(node))
            self.wrong.append(f"{what}{story}")

    # --- what is fetched ---

    def fetches(self) -> None:
        found, graph = self.answers.found, self.graph
        for path in found.keys() | {ROOT}:
            times = self.answers.all.get("fetches", {}).get(path, 1)
            self.expect(
                len(graph.of(path)) == times, f"{path} is fetched {len(graph.of(path))} times, not {times}"
            )
        named = {name for path in found.keys() | {ROOT} for name in graph.of(path)}
        for name, one in graph.objects.items():
            is_known = name in named or FAVICON.fullmatch(one["url"])
            self.expect(bool(is_known), f"{name} is not to be fetched", name)

    # --- who finds what ---

    def finds(self) -> None:
        for path, one in self.answers.found.items():
            if self.graph.of(path):
                self.found(path, one, self.graph.object(path))

    def found(self, path: str, one: dict[str, Any], name: str) -> None:
        ended = self.graph.ended(name)
        extra = ended - self.answers.may_precede(path)
        self.expect(not extra, f"{path} waits for {sorted(extra)}, which have nothing to do with it", name)
        if one["tag"] is not None:
            self.place(path, one, name)
        elif one["by"] == "redirect":
            is_redirect = [(edge.node, edge.why) for edge in self.graph.needs(name)]
            wanted = [(self.graph.object(one["from"]), "redirect")]
            self.expect(is_redirect == wanted, f"{path} does not follow from {one['from']}", name)
        elif one["by"] in ("style", "import") and one["from"] != ROOT:
            self.expect(one["from"] in ended, f"{path} does not wait for {one['from']}", name)
        elif one["by"] in ("script", "worker", "frame"):
            self.after_script(path, one, name)
        self.conditions(path, one, name)
        if one["by"] == "style" and not path.endswith(".css"):
            is_rendered = any(edge.node.startswith("render ") for edge in self.graph.needs(name))
            self.expect(is_rendered, f"{path} is found before anything is rendered", name)
        if "element" in one:
            end = self.answers.end_of(ROOT, one["element"])
            have = self.graph.before(name).count.get(self.graph.object(ROOT), 0)
            self.expect(have >= end, f"{path} needs {have} bytes of the document, its element {end}", name)

    def place(self, path: str, one: dict[str, Any], name: str) -> None:
        """Check at which byte of a document it is found, and whether by the parser alone."""
        graph, document = self.graph, self.graph.object(one["from"])
        end = self.answers.end_of(one["from"], one["tag"])
        counts = [edge.count for edge in graph.needs(name) if edge.node == document and edge.on == "bytes"]
        if one["by"] == "style":
            counts = [graph.before(name).count.get(document, 0)]
        self.expect(counts == [end], f"{path} is found at byte {counts} of {one['from']}, not {end}", name)
        ahead, begun = one.get("ahead"), graph.before(name).begun
        self.expect(
            f"commit {document}" in begun, f"{path} does not wait for {one['from']} to be shown", name
        )
        pieces = begun & set(graph.pieces(document))
        self.expect(ahead is not False or bool(pieces), f"{path} is not found by the parser itself", name)
        if ahead:
            runs = [run for run in self.answers.blocking(one["from"], end) if self.node(run) in begun]
            self.expect(not runs, f"{path} waits for {runs}, though a scanner finds it", name)

    def after_script(self, path: str, one: dict[str, Any], name: str) -> None:
        """Check that a script found it, or the frame, from which it is."""
        begun, source = self.graph.before(name).begun, one["from"]
        if source.endswith(".js"):
            run = self.graph.run(self.graph.object(source))
            self.expect(run in begun, f"{path} does not wait for the run of {source}", name)
        elif source != ROOT:
            document = self.graph.object(source)
            self.expect(f"commit {document}" in begun, f"{path} does not wait for {source}", name)
        kinds = ("run ", "timer ", "frame ", "idle ", "event ", "callback ", "load event", "render ")
        asks = [edge.node for edge in self.graph.needs(name) if edge.node.startswith(kinds)]
        self.expect(bool(asks), f"{path} is asked for by no script", name)

    def conditions(self, path: str, one: dict[str, Any], name: str) -> None:
        graph, before = self.graph, self.graph.before(name)
        for other in one.get("waits", []):
            self.expect(other in graph.ended(name), f"{path} does not wait for {other}", name)
        for run in one.get("waits_run", []):
            self.expect(self.node(run) in before.begun, f"{path} does not wait for the run of {run}", name)
        if one.get("after_parse") == "end":
            self.expect(ROOT in graph.ended(name), f"{path} does not wait for the end of the document", name)
        if one.get("after_load"):
            self.expect("load event" in before.begun, f"{path} does not wait for the load event", name)
        if "delay_ms" in one:
            self.timer(path, one, name)

    def timer(self, path: str, one: dict[str, Any], name: str) -> None:
        """Check that a timer of the right length was set where it should be."""
        graph, delay = self.graph, one["delay_ms"]
        timers = [edge for edge in graph.before(name).edges if edge.timer_ms == delay]
        self.expect(len(timers) == 1, f"{path} waits for {len(timers)} timers of {delay} ms", name)
        for edge in timers:
            begun = graph.before(edge.node).begun | {edge.node}
            for run in one.get("waits_run", []):
                self.expect(self.node(run) in begun, f"the timer of {path} is not set by {run}", name)
            for other in one.get("waits", []):
                is_set = other in graph.ended(edge.node)
                self.expect(is_set, f"the timer of {path} does not wait for {other}", name)
            for other in one.get("after_found", []):
                asks = {need.node for need in graph.needs(graph.object(other)) if need.why == "script"}
                self.expect(asks <= begun, f"the timer of {path} is not set where {other} is asked for", name)

    # --- documents ---

    def documents(self) -> None:
        """Check that each is parsed in pieces, one after the other, as it comes."""
        graph = self.graph
        for name in graph.nodes:
            if name.startswith("commit "):
                document = name.removeprefix("commit ")
                comes = any(edge.node == document for edge in graph.needs(name))
                self.expect(comes, f"{document} is shown before it comes", name)
                self.pieces(document, name)
            if received := re.fullmatch(r"receive \d+ of (.*)", name):
                is_there = received[1] in graph.before(name).ended
                self.expect(is_there, f"{received[1]} is received before it is there", name)

    def pieces(self, document: str, commit: str) -> None:
        graph, earlier, reached = self.graph, commit, 0
        for piece in graph.pieces(document):
            before = graph.before(piece)
            self.expect(earlier in before.begun, f"{piece} does not follow {earlier}", piece)
            counts = [
                edge.count for edge in graph.needs(piece) if edge.node == document and edge.on == "bytes"
            ]
            size = graph.objects[document]["bytes"]
            come = counts[0] if counts else size if document in before.ended else 0
            self.expect(come > reached, f"{piece} needs byte {come}, that before it {reached}", piece)
            earlier, reached = piece, come
        self.expect(
            document in graph.before(earlier).ended, f"{document} is parsed before it is there", earlier
        )

    # --- what scripts wait for ---

    def node(self, run: str) -> str | None:
        """Give the node of a script, by its element's URL or by its number."""
        answers = self.answers
        if run.startswith("inline:"):
            number = int(run.removeprefix("inline:"))
            is_module = answers.inline()[number][1]
            before = sum(module == is_module for _, module in answers.inline()[:number])
            nodes = self.graph.runs(self.graph.root, "module" if is_module else "inline")
            return nodes[before] if before < len(nodes) else None
        last = run
        while follower := next((p for p, f in answers.found.items() if redirects(f, last)), None):
            last = follower
        return self.graph.run(self.graph.object(last))

    def scripts(self) -> None:
        for run, one in self.answers.runs.items():
            node = self.node(run)
            if node is None:
                self.wrong.append(f"{run} does not run: {sorted(self.graph.nodes)}")
            else:
                self.script(run, one, node)
        count = sum(not module for _, module in self.answers.inline())
        nodes = self.graph.runs(self.graph.root, "inline")
        self.expect(len(nodes) == count, f"there are {count} inline scripts, {nodes} run")

    def script(self, run: str, one: dict[str, Any], node: str) -> None:
        graph, before, ended = self.graph, self.graph.before(node), self.graph.ended(node)
        missing = set(one["waits"]) - ended
        self.expect(not missing, f"{run} does not wait for {sorted(missing)}", node)
        extra = ended - self.answers.may_precede_run(run)
        self.expect(not extra, f"{run} waits for {sorted(extra)}, which have nothing to do with it", node)
        for other in one["after_runs"]:
            earlier = self.node(other)
            # What a module imports runs in one go with it.
            self.expect(earlier in before.begun | {node}, f"{run} does not wait for the run of {other}", node)
        if one["after_parse"] == "end":
            self.expect(ROOT in ended, f"{run} does not wait for the end of the document", node)
        place = self.answers.place(run)
        if one["after_parse"] == "tag" and place:
            document = graph.object(place[0])
            pieces = before.begun & set(graph.pieces(document))
            have = max((graph.before(piece).count.get(document, 0) for piece in pieces), default=0)
            self.expect(
                have > place[1], f"{run} runs at byte {have} of the parser, stands at {place[1]}", node
            )
            self.expect(document not in before.ended, f"{run} waits for the end of the document", node)
        document = place[0] if place else ROOT
        pieces = graph.pieces(graph.object(document))
        last = graph.before(pieces[-1]).begun
        blocks = one["blocks_parser"]
        self.expect((node in last) == blocks, f"{run} blocks the parser: not {blocks}", pieces[-1])

    # --- the load event ---

    def load_event(self) -> None:
        graph, answers = self.graph, self.answers.all
        # Chromium lets the load event wait for a lazy image once it arrives; HTML has it not wait.
        free = {False, "when-arriving"}
        for key, wanted in (("load_event_needs", {True, "when-found"}), ("load_event_not_needs", free)):
            for path in answers[key]:
                name = graph.object(path)
                needed = graph.objects[name].get("needed", True)
                self.expect(needed in wanted, f"{path}: needed is {needed}, but is in {key}", name)
        if "load event" in graph.nodes:
            ended = graph.ended("load event")
            missing = set(answers["load_event_needs"]) - ended
            self.expect(not missing, f"the load event does not wait for {sorted(missing)}", "load event")
            extra = ended & set(answers["load_event_not_needs"])
            self.expect(not extra, f"the load event waits for {sorted(extra)}", "load event")


def redirects(found: dict[str, Any], path: str) -> bool:
    return found["by"] == "redirect" and found["from"] == path


def indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.splitlines())


def _commit(events: list[dict[str, Any]], loaded: dict[str, Any]) -> float:
    """Give when the task began in which a document was committed."""
    begun = [
        event["ts"]
        for event in events
        if event["name"] == "RunTask"
        and (event["pid"], event["tid"]) == (loaded["pid"], loaded["tid"])
        and event["ts"] <= loaded["ts"] <= event["ts"] + event.get("dur", 0)
    ]
    return float(max(begun, default=loaded["ts"]))


def busy_ms(recorded: Archive, number: int, graph: Graph) -> float:
    """Give the time of all tasks of documents, from their commit on, and of workers."""
    events = json.loads(recorded.extra(trace_of(number)))["traceEvents"]
    urls = {one["url"] for one in graph.objects.values()}
    begins: dict[tuple[int, int], float] = {}
    for event in events:
        said, thread = event.get("args", {}), (event["pid"], event["tid"])
        if event["name"] == "thread_name" and said["name"] == "DedicatedWorker thread":
            begins[thread] = 0.0
        elif event["name"] == "CommitLoad" and said["data"]["url"] in urls:
            begins.setdefault(thread, _commit(events, event))
    busy = 0.0
    slices = [event for event in events if event["ph"] == "X" and event.get("dur", 0) > 0]
    slices.sort(key=lambda event: (event["ts"], -event["dur"]))
    ended: dict[tuple[int, int], float] = {}
    for event in slices:
        thread, ends = (event["pid"], event["tid"]), event["ts"] + event["dur"]
        # Of slices that nest the outermost.
        if thread in begins and event["ts"] >= ended.get(thread, 0.0):
            ended[thread] = ends
            busy += max(0.0, ends - max(event["ts"], begins[thread]))
    return busy / 1e3


@pytest.mark.parametrize("name", EXPECTED)
def test_graph_is_what_the_standards_say(recorded: Archive, name: str) -> None:
    load = next(load for load in recorded.loads if load.url == start(name))
    assert load.onload_ms is not None
    graph = Graph(name, json.loads(graph_of(recorded, load.number).to_json()))
    checker = Checker(graph, Answers(name))
    checker.fetches()
    checker.finds()
    checker.scripts()
    checker.load_event()
    checker.documents()
    busy, known = busy_ms(recorded, load.number, graph), sum(one["ms"] for one in graph.nodes.values())
    if abs(known - busy) > max(2.0, busy / 50):
        checker.wrong.append(f"the threads were busy for {busy:.1f} ms, the graph for {known:.1f} ms")
    assert not checker.wrong, "\n" + "\n".join(checker.wrong)
