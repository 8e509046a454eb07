"""Runs over several machines: a Ray cluster of three nodes on this one, with nodes, workers and drivers that die."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from scipy import sparse

import gcnproof
import gcnproof.distributed
from gcnproof.distributed import driver
from gcnproof.distributed.asked import Parcel, Shared
from gcnproof.distributed.batches import LEAST, plan, weights
from gcnproof.distributed.worker import Worker

NODES = slice(0, 240)


def rows(results):
    """Every row without the time that it took."""
    found = [results._rows.row(at) for at in range(len(results))]
    for row in found:
        row.pop("seconds")
    return found


@pytest.fixture(scope="module")
def local(cora, standard):
    """What one process finds."""
    return rows(gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False))


@pytest.fixture(scope="module")
def cluster():
    """Three nodes; this process is connected to them."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install -r python/requirements-distributed.txt")
    from ray.cluster_utils import Cluster

    # A node that is gone is missed within a second instead of half a minute.
    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 200, "health_check_failure_threshold": 3}
    store = {"num_cpus": 1, "object_store_memory": 100 << 20}
    made = Cluster(initialize_head=True, head_node_args={**store, "_system_config": health, "include_dashboard": False})
    for _ in range(2):
        made.add_node(**store)
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    yield made
    ray.shutdown()
    made.shutdown()


def slow(seconds):
    """Workers that take their time. Made in a function, so that the class itself travels to them."""

    class Slow(Worker):
        def work(self, nodes):
            time.sleep(seconds)
            return super().work(nodes)

    return Slow


def kinds_of_attributes():
    """Graphs with attributes of every kind, a network and an attack on them."""
    random = np.random.default_rng(0)
    bits = (random.random((6, 5)) < 0.5).astype(float)
    bits[:, 0] = 1
    one_hot = np.eye(3)[random.integers(3, size=6)]
    links = sparse.csr_matrix(np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), 1, 0))
    for graph, attack in (
        (gcnproof.Graph(links, bits), gcnproof.Flips(2, 1)),
        (gcnproof.Graph(links, (bits / bits.sum(1, keepdims=True)).astype(np.float32)), gcnproof.Flips(2, 1)),
        (gcnproof.Graph(links, one_hot), gcnproof.Categories(2, 1, groups=[[0, 1, 2]])),
        (gcnproof.Graph(links, bits * random.random(bits.shape), real=True), gcnproof.Ranges(Q=2, q=1, observed=True)),
        (gcnproof.Graph(links, bits * random.random(bits.shape), real=True), gcnproof.Ranges(epsilon=0.1)),
    ):
        weights = [random.normal(size=size) for size in ((graph.attribute_count, 4), (4, 2))]
        layers = [
            gcnproof.Layer("hidden", [gcnproof.Term("x", "gcn", weights[0])], np.zeros(4)),
            gcnproof.Layer("logits", [gcnproof.Term("hidden", "gcn", weights[1])], np.zeros(2), "none"),
        ]
        yield graph, gcnproof.Network(layers), attack


@pytest.mark.filterwarnings("ignore:.*divided by their sums:gcnproof.GcnproofWarning")
def test_workers_read_the_graph_and_the_network_of_the_driver(tmp_path):
    """What travels, and the work of a worker, without a cluster."""
    shown = 0
    for graph, network, attack in kinds_of_attributes():
        subject = gcnproof.selection.Subject.of(network, graph, None, attack)
        graph = subject.graph
        asked = gcnproof.asking.Asked(attack, complete=True)
        parcel, shared = pickle.loads(pickle.dumps((Parcel.of(subject), Shared(*asked.native(graph), True))))
        worker = Worker(parcel, shared, 1)
        proofs = tmp_path / f"{graph.digest[:8]}-{type(attack).__name__}.jsonl"
        gathering = asked.question(subject).gather({"proofs": proofs, "out": None, "resume": False, "force": False})
        for nodes in ([0, 1, 2], [3, 4, 5]):
            gathering.push(*worker.work(np.array(nodes)))
        found = gcnproof.Results(*gathering.finish(), graph)
        whole = gcnproof.certify(network, graph, attack, complete=True, progress=False)
        assert rows(found) == rows(whole) and found.run == whole.run
        robust = found.node[found.robust]
        shown += len(robust)
        assert not len(robust) or gcnproof.check(network, graph, proofs, attack, nodes=robust, progress=False)
    assert shown > 0


def test_rows_are_those_of_one_process(cluster, cora, standard, local, tmp_path):
    told = []
    out, proofs = tmp_path / "rows.parquet", tmp_path / "proofs.jsonl"
    found = gcnproof.distributed.certify(
        standard, cora, 12, 0.01, nodes=NODES, out=out, proofs=proofs, progress=lambda *one: told.append(one)
    )
    assert rows(found) == local and found.complete and isinstance(found, gcnproof.Results)
    assert told[0][:2] == (0, 240) and told[-1] == (240, 240, "3 machines")
    # The files are those of a run in one process: it takes them for its own.
    again = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, out=out, proofs=proofs, resume=True, progress=False)
    assert rows(again) == local and rows(gcnproof.load(out)) == local
    assert gcnproof.check(standard, cora, proofs, Q=12, nodes=found.node[found.robust], progress=False)
    alone = tmp_path / "alone.jsonl"
    gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, proofs=alone, progress=False)
    assert sorted(proofs.read_text().splitlines()) == sorted(alone.read_text().splitlines())


def test_models_and_graphs_may_be_files(cluster, fixtures, cora, standard, local, tmp_path):
    found = gcnproof.distributed.certify(
        fixtures / "cora_standard.safetensors", fixtures / "cora.npz", 12, 0.01, nodes=NODES, batch=20, progress=False
    )
    assert rows(found) == local


def test_radii_and_other_budgets(cluster, problem):
    graph, network = problem
    q = np.arange(graph.node_count) % 3
    for options in ({}, {"flips": "add", "freeze_nodes": [2], "freeze_attributes": [1]}):
        found = gcnproof.distributed.radius(network, graph, q, max_Q=4, complete=True, progress=False, **options)
        expected = gcnproof.radius(network, graph, q, max_Q=4, complete=True, progress=False, **options)
        assert isinstance(found, gcnproof.Radii) and rows(found) == rows(expected)
    found = gcnproof.distributed.certify(network, graph, 3, 2, minimize=True, class_="labels", progress=False)
    expected = gcnproof.certify(network, graph, 3, 2, minimize=True, class_="labels", progress=False)
    assert rows(found) == rows(expected) and found[0].exact_margins == expected[0].exact_margins


def test_a_node_that_is_killed_costs_its_batch(cluster, cora, standard, local, monkeypatch):
    doomed = [cluster.add_node(num_cpus=1, object_store_memory=100 << 20)]
    cluster.wait_for_nodes()
    monkeypatch.setattr(driver, "Worker", slow(0.3))
    seen = []

    def listener(done, total, message):
        seen.append(message)
        if done >= 60 and "4 machines" in seen and doomed:
            cluster.remove_node(doomed.pop(), allow_graceful=False)

    found = gcnproof.distributed.certify(standard, cora, 12, 0.01, nodes=NODES, progress=listener)
    assert not doomed and rows(found) == local
    assert seen[-1] == "3 machines"


def test_a_worker_that_dies_costs_its_batch(cluster, cora, standard, local, monkeypatch, tmp_path):
    once = str(tmp_path / "once")

    class Mortal(Worker):
        def work(self, nodes):
            if 100 in nodes and not os.path.exists(once):
                open(once, "w").close()
                os._exit(1)
            return super().work(nodes)

    monkeypatch.setattr(driver, "Worker", Mortal)
    found = gcnproof.distributed.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    assert os.path.exists(once) and rows(found) == local


def test_a_batch_that_fails_three_times_is_reported_and_the_rest_is_there(cluster, cora, standard, local, monkeypatch, tmp_path):
    class Faulty(Worker):
        def work(self, nodes):
            if 100 in nodes:
                raise RuntimeError("on purpose")
            if 200 in nodes:
                os._exit(1)
            return super().work(nodes)

    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr(driver, "Worker", Faulty)
    with pytest.raises(gcnproof.distributed.IncompleteRun, match="2 batches failed 3 times") as caught:
        gcnproof.distributed.certify(standard, cora, 12, 0.01, nodes=NODES, batch=16, out=out, progress=False)
    error = caught.value
    missing = {node for failure in error.failures for node in failure.nodes}
    assert {100, 200} <= missing and len(missing) <= 32
    for failure in error.failures:
        assert len(failure.errors) == 3 and len({words.split(" ")[1] for words in failure.errors}) == 3, failure.errors
    assert "on purpose" in "".join(error.failures[0].errors + error.failures[1].errors)
    expected = [row for row in local if row["node"] not in missing]
    assert rows(error.results) == expected and not error.results.complete
    assert rows(gcnproof.load(out)) == expected
    # Another try, without the fault: only what is missing is asked for.
    monkeypatch.undo()
    told = []
    found = gcnproof.distributed.certify(
        standard, cora, 12, 0.01, nodes=NODES, out=out, resume=True, progress=lambda *one: told.append(one)
    )
    assert rows(found) == local and told[0][1] == len(missing)


def test_workers_that_do_not_start_end_the_run(cluster, cora, standard, monkeypatch):
    class Unable(Worker):
        def __init__(self, *_):
            raise RuntimeError("no room")

    monkeypatch.setattr(driver, "Worker", Unable)
    with pytest.raises(gcnproof.distributed.IncompleteRun, match="no worker starts") as caught:
        gcnproof.distributed.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    assert "no room" in str(caught.value) and len(caught.value.results) == 0
    assert sum(len(failure.nodes) for failure in caught.value.failures) == 240


SCRIPT = """
import sys, time
import gcnproof.distributed
from gcnproof.distributed import driver
from gcnproof.distributed.worker import Worker

class Slow(Worker):
    def work(self, nodes):
        time.sleep(0.4)
        return super().work(nodes)

driver.Worker = Slow
graph, network = gcnproof.load(sys.argv[1]), gcnproof.load(sys.argv[2])
try:
    gcnproof.distributed.certify(
        network, graph, 12, 0.01, nodes=slice(0, 240), out=sys.argv[3], resume=True, address=sys.argv[4],
        progress=lambda done, total, message: print("done", done, flush=True),
    )
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_dies_resumes(cluster, fixtures, cora, standard, local, tmp_path, kill):
    out = tmp_path / "rows.jsonl"
    words = [fixtures / "cora.npz", fixtures / "cora_standard.safetensors", out, cluster.address]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if line.startswith("done") and out.exists() and len(out.read_text().splitlines()) > 20:
            break
    start = time.monotonic()
    process.send_signal(kill)
    said, errors = process.communicate(timeout=60)
    some = gcnproof.load(out)
    assert 20 < len(some) < 240 and not some.complete, errors
    if kill == signal.SIGINT:
        assert "interrupted" in said and "KeyboardInterrupt" in errors, errors
        assert time.monotonic() - start < 20
    else:
        assert process.returncode == -signal.SIGKILL
    told = []
    found = gcnproof.distributed.certify(
        standard, cora, 12, 0.01, nodes=NODES, out=out, resume=True, progress=lambda *one: told.append(one)
    )
    assert rows(found) == local and told[0][1] == 240 - len(some)


def test_what_is_wrong_is_said_before_any_machine_is_asked(cora, standard, tmp_path, monkeypatch):
    monkeypatch.setattr("gcnproof.distributed.calls.engine", lambda: pytest.fail)
    with pytest.raises(gcnproof.InputError, match="bound='worst'"):
        gcnproof.distributed.certify(standard, cora, 12, 0.01, bound="worst")
    with pytest.raises(gcnproof.InputError, match="batch=0"):
        gcnproof.distributed.certify(standard, cora, 12, 0.01, batch=0)
    with pytest.raises(gcnproof.InputError, match="out="):
        gcnproof.distributed.certify(standard, cora, 12, 0.01, resume=True)
    with pytest.raises(gcnproof.InputError, match="no node 99999"):
        gcnproof.distributed.radius(standard, cora, 0.01, nodes=[99999])
    with pytest.raises(gcnproof.InputError, match="jsonl"):
        gcnproof.distributed.certify(standard, cora, 12, 0.01, proofs=tmp_path / "proofs.txt")


def test_without_ray_the_way_to_get_it_is_told(cora, standard, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(gcnproof.GcnproofError, match=r"pip install 'gcnproof\[distributed\]'"):
        gcnproof.distributed.certify(standard, cora, 12, 0.01, nodes=[0])


def test_importing_brings_no_ray():
    code = "import sys, gcnproof.distributed; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "False"


def test_batches_have_about_the_same_weight(cora):
    offsets, indices = cora._native().adjacency()
    weight = weights(offsets, indices, 2)
    exact = (cora.adjacency @ cora.adjacency + cora.adjacency).tolil()
    exact.setdiag(1)
    assert (weight >= exact.tocsr().getnnz(axis=1)).all() and (weights(offsets, indices, 0) == 1).all()
    nodes = np.arange(cora.node_count)
    batches = plan(nodes, weight, 2)
    assert (np.concatenate(batches) == nodes).all()
    heavy = max(weight[batch].sum() for batch in batches if len(batch) > LEAST)
    assert heavy <= weight.sum() / 64 and min(map(len, batches[:-1])) >= LEAST
    assert max(map(len, plan(nodes, weight, 1, 5))) == 5 and plan(nodes[:0], weight, 1) == []
    assert json.dumps([len(batch) for batch in plan(nodes[:3], weight, 3)]) == "[3]"
