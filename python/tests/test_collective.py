"""One attack for the whole graph from Python: against brute force, in every form, with radii, proofs and files; and what is refused."""

import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import small
from test_certify import forward

import gcnproof

NODES = slice(0, 80)
FEW = {"nodes": NODES, "swaps": 500, "progress": False}


def flipped(x, flips):
    changed = x.copy()
    for node, attribute in flips:
        changed[node, attribute] = 1 - changed[node, attribute]
    return changed


def broken(graph, network, flips, counted):
    """Which predictions are not kept, by numpy alone."""
    x = graph.attributes.toarray().astype(float)
    kept = forward(graph, network, x).argmax(1)
    logits = forward(graph, network, flipped(x, flips))
    own = logits[np.arange(len(kept)), kept]
    logits[np.arange(len(kept)), kept] = -np.inf
    return [node for node in counted if own[node] <= logits[node].max()]


@pytest.mark.parametrize("rows", ["all", "count"])
@pytest.mark.parametrize("seed", range(5))
def test_every_perturbation_is_tried(seed, rows):
    graph, network = small(seed, nodes=6, attributes=3)
    entries = list(itertools.product(range(6), range(3)))
    worst = [0, 0, 0]
    for Q in range(3):
        for flips in itertools.combinations(entries, Q):
            if all(sum(node == n for n, _ in flips) <= 1 for node in range(6)):
                worst[Q] = max(worst[Q], len(broken(graph, network, flips, range(6))))
    worst = np.maximum.accumulate(worst)
    found = gcnproof.collective(network, graph, [2, 0, 1], 1, rows=rows, complete=True, progress=False)
    assert isinstance(found, gcnproof.CollectiveResults) and found.Q.tolist() == [0, 1, 2] and (found.counted == 6).all()
    assert (found.bound >= worst).all() and (found.broken <= worst).all()
    # So small that all perturbations are listed.
    assert found.listed.all() and (found.bound == worst).all() and (found.broken == worst).all()
    for row in found:
        assert broken(graph, network, row.flips, range(6)) == row.broken_nodes and len(row.broken_nodes) == row.broken
        assert abs(found.apply(row.Q) - graph.attributes).nnz == len(row.flips) <= row.Q


def test_columns_rows_and_tables(cora, standard):
    curve = gcnproof.collective(standard, cora, "0-6:3", 0.01, **FEW)
    assert curve.Q.tolist() == [0, 3, 6] and curve.complete and curve.run["command"] == "collective"
    assert (curve.certified == curve.counted - curve.bound).all() and (curve.broken <= curve.bound).all()
    assert (np.diff(curve.bound) >= 0).all() and curve.broken[-1] > 0 and (curve.bound + curve.robust <= 80).all()
    share = curve.certified / 80
    assert curve.area() == pytest.approx(3 * (share[0] / 2 + share[1] + share[2] / 2))
    row = curve[6]
    assert (row.Q, row.bound, row.broken) == (6, curve.bound[2], curve.broken[2]) and row.certified + row.unknown + row.broken == 80
    assert row.flips == curve.flips[2] and row.broken_nodes == curve.broken_nodes[2] and 6 in curve and 5 not in curve
    with pytest.raises(KeyError, match="Q = 5"):
        curve[5]
    logits = gcnproof.logits(standard, cora)
    after = gcnproof.logits(standard, cora, row.flips)
    assert all(after[node].argmax() != logits[node].argmax() for node in row.broken_nodes)
    assert abs(curve.apply(6) - cora.attributes).nnz == len(row.flips)
    frame = curve.to_pandas()
    assert frame.loc[6, "bound"] == row.bound and frame.loc[6, "flips"] == row.flips
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(curve.to_arrow())
    assert table["q_global"].to_list() == [0, 3, 6] and table["bound"].to_list() == curve.bound.tolist()
    assert "breaks at most" in repr(curve) and "certified" in str(curve) and "<table>" in curve._repr_html_()
    assert curve.summary()["area"] == curve.area() and curve.summary()["largest_Q"] == 6
    assert gcnproof.collective(standard, cora, 3, 0.01, **FEW).area() is None


def test_budgets_in_every_form():
    graph, network = small(1, nodes=5, attributes=3)
    forms = [3, [3], (3,), {3}, range(3, 4), "3", "3-3", np.array([3]), np.int64(3), [3, 3]]
    for budgets in forms:
        assert gcnproof.collective(network, graph, budgets, 1, progress=False).Q.tolist() == [3], budgets
    assert gcnproof.collective(network, graph, range(0, 5, 2), 1, progress=False).Q.tolist() == [0, 2, 4]


def test_the_command_line_says_the_same(cora, fixtures, program, tmp_path):
    graph, model, out = fixtures / "cora.npz", fixtures / "cora_standard.safetensors", tmp_path / "there.parquet"
    here = gcnproof.collective(model, graph, [0, 4], 3, **FEW)
    program("collective", graph, model, *f"-Q 0,4 -q 3 --nodes 0-79 --swaps 500 --out {out}".split())
    there = gcnproof.load(out, graph=cora)
    assert isinstance(there, gcnproof.CollectiveResults) and there.run == here.run
    assert (there.bound == here.bound).all() and there.flips == here.flips and (there.apply(4) != here.apply(4)).nnz == 0


def test_radii_are_taken_from_memory_and_from_files(cora, standard, tmp_path):
    radii = gcnproof.radius(standard, cora, 2, max_Q=6, nodes=NODES, complete=True, out=tmp_path / "radii.jsonl", progress=False)
    searched = gcnproof.collective(standard, cora, [3, 6], 2, rows="count", complete=True, **FEW)
    given = gcnproof.collective(standard, cora, [3, 6], 2, rows="count", radii=radii, **FEW)
    read = gcnproof.collective(standard, cora, [3, 6], 2, rows="count", radii=tmp_path / "radii.jsonl", **FEW)
    assert searched.bound.tolist() == given.bound.tolist() == read.bound.tolist()
    # Rows of weights bound no worse.
    assert (gcnproof.collective(standard, cora, [3, 6], 2, radii=radii, **FEW).bound <= given.bound).all()
    with pytest.raises(gcnproof.InputError, match="another local budget"):
        gcnproof.collective(standard, cora, 3, 3, radii=radii, **FEW)
    with pytest.raises(gcnproof.InputError, match="no radius of node 80"):
        gcnproof.collective(standard, cora, 3, 2, radii=radii, nodes=slice(0, 90), progress=False)
    with pytest.raises(gcnproof.InputError, match="radii: a dict"):
        gcnproof.collective(standard, cora, 3, 2, radii={}, **FEW)
    edges = gcnproof.radius(standard, cora, edges="remove", e=1, max_E=1, nodes=[0], progress=False)
    with pytest.raises(gcnproof.InputError, match="numbers of changed edges"):
        gcnproof.collective(standard, cora, 3, 2, radii=edges, **FEW)


@pytest.mark.filterwarnings("ignore:nothing can be attacked")
def test_what_the_attacker_may_do(cora, standard):
    free = gcnproof.collective(standard, cora, 4, 2, **FEW)
    one = gcnproof.collective(standard, cora, 4, 2, attacked_nodes=1, **FEW)
    frozen = gcnproof.collective(standard, cora, 4, 2, freeze_nodes=slice(None), **FEW)
    add = gcnproof.collective(standard, cora, 4, 2, flips="add", **FEW)
    assert one.bound[0] <= free.bound[0] and len({node for node, _ in one.flips[0]}) <= 1
    assert frozen.bound[0] == 0 and frozen.flips == [[]]
    assert all(cora.attributes[flip] == 0 for flip in add.flips[0])
    by_node = gcnproof.collective(standard, cora, 4, np.full(cora.node_count, 2), **FEW)
    assert by_node.bound[0] == free.bound[0]
    right = gcnproof.collective(standard, cora, 4, 2, class_="labels", **FEW)
    predicted = gcnproof.logits(standard, cora).argmax(1)[NODES]
    assert right.counted[0] == (predicted == cora.labels[NODES]).sum() < 80


def test_proofs_are_written_and_checked(cora, standard, tmp_path):
    folder = tmp_path / "proofs"
    found = gcnproof.collective(standard, cora, [2, 4], 2, proofs=folder, **FEW)
    for Q, bound in zip(found.Q.tolist(), found.bound.tolist(), strict=True):
        checked = gcnproof.check(standard, cora, folder / f"Q-{Q}.jsonl", progress=False)
        assert checked.success and checked.proved is None and checked.bound == bound and f"at most {bound} of 80" in repr(checked)
        assert gcnproof.check(standard, cora, folder / f"Q-{Q}.jsonl", Q=Q, q=2, bound=bound, nodes=NODES, progress=False)
    path = folder / "Q-4.jsonl"
    low = gcnproof.check(standard, cora, path, Q=4, q=2, nodes=NODES, bound=int(found.bound[1]) - 1, progress=False)
    assert not low and "at most" in low.unmet[0]
    assert not gcnproof.check(standard, cora, path, Q=5, q=2, nodes=NODES, bound=80, progress=False)
    assert not gcnproof.check(standard, cora, path, Q=4, q=2, bound=80, progress=False)
    # What is proved of one attack is not proved of single nodes.
    assert not gcnproof.check(standard, cora, path, Q=4, q=2, nodes=NODES, progress=False)
    with pytest.raises(gcnproof.InputError, match="force=True"):
        gcnproof.collective(standard, cora, [4], 2, proofs=folder, **FEW)
    gcnproof.collective(standard, cora, [4], 2, proofs=folder, force=True, attacked_nodes=3, **FEW)
    question = {"Q": 4, "q": 2, "nodes": NODES, "bound": 80, "progress": False}
    assert gcnproof.check(standard, cora, path, attacked_nodes=3, **question)
    assert not gcnproof.check(standard, cora, path, attacked_nodes=4, **question)
    with pytest.raises(gcnproof.InputError, match="rows='count' with proofs"):
        gcnproof.collective(standard, cora, [4], 2, rows="count", proofs=tmp_path / "others", **FEW)
    with pytest.raises(gcnproof.InputError, match="bound=-1"):
        gcnproof.check(standard, cora, path, Q=4, bound=-1)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_runs_are_kept_resumed_and_saved(cora, standard, tmp_path, ending):
    out = tmp_path / f"rows.{ending}"
    found = gcnproof.collective(standard, cora, [0, 2], 2, out=out, **FEW)
    again = gcnproof.load(out)
    assert (again.bound == found.bound).all() and again.flips == found.flips and again.broken_nodes == found.broken_nodes
    with pytest.raises(gcnproof.InputError, match="graph=data"):
        again.apply(2)
    with pytest.raises(gcnproof.InputError, match="force=True"):
        gcnproof.collective(standard, cora, [0, 2], 2, out=out, **FEW)
    resumed = gcnproof.collective(standard, cora, [0, 2], 2, out=out, resume=True, **FEW)
    assert resumed.flips == found.flips
    with pytest.raises(gcnproof.InputError, match="budgets"):
        gcnproof.collective(standard, cora, [0, 3], 2, out=out, resume=True, **FEW)
    found.save(tmp_path / f"copy.{ending}")
    assert gcnproof.load(tmp_path / f"copy.{ending}").run == found.run


def test_progress_is_told_and_exceptions_end_the_call(cora, standard, tmp_path):
    told = []
    gcnproof.collective(standard, cora, [0, 1, 2], 2, nodes=NODES, swaps=500, progress=lambda *position: told.append(position))
    # First single nodes, then budgets.
    assert told[-1][:2] == (3, 3) and {total for _, total, _ in told} <= {3, 80}

    out = tmp_path / "rows.jsonl"

    def after_one(done, total, message):
        if total == 20 and done >= 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gcnproof.collective(standard, cora, range(20), 2, nodes=NODES, swaps=20_000, out=out, progress=after_one)
    some = gcnproof.load(out)
    assert 0 < len(some) < 20 and not some.complete and "of 20 budgets" in repr(some)
    rest = gcnproof.collective(standard, cora, range(20), 2, nodes=NODES, swaps=20_000, out=out, resume=True, progress=False)
    assert rest.complete and rest.bound[: len(some)].tolist() == some.bound.tolist()


def test_ctrl_c_ends_a_run(fixtures):
    script = """
    import os, signal, sys, threading, time
    import gcnproof
    threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        gcnproof.collective(sys.argv[2], sys.argv[1], range(0, 5000, 5), 0.05, complete=True, progress=False)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - start)
    """
    files = [fixtures / "cora.npz", fixtures / "cora_standard.safetensors"]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), *map(str, files)], capture_output=True, text=True, timeout=60)
    words = done.stdout.split()
    assert words[0] == "interrupted" and float(words[1]) < 5, done


def test_what_cannot_be_asked_is_refused():
    graph, network = small(0)

    def refused(match, budgets=2, q=1, **options):
        with pytest.raises(gcnproof.InputError, match=match) as caught:
            gcnproof.collective(network, graph, budgets, q, progress=False, **options)
        assert "--" not in str(caught.value)

    refused("q is missing", q=None)
    refused("q=1.5", q=1.5)
    refused("budgets=-1", budgets=-1)
    refused("budgets=1.5", budgets=1.5)
    refused("budgets=True", budgets=True)
    refused("no numbers of flips", budgets=[1, -2])
    refused("no numbers of flips", budgets=[0.5])
    refused("no numbers of flips", budgets=[[1, 2]])
    refused("no budget is given", budgets=[])
    refused("no list of budgets", budgets="5-3")
    refused("no list of budgets", budgets="many")
    refused('rows="some"', rows="some")
    refused("class_='other'", class_="other")
    refused('solver="best"', solver="best")
    refused("attacked_nodes=-1", attacked_nodes=-1)
    refused("swaps=1.5", swaps=1.5)
    refused("no node 99", nodes=[99])
    refused("no node is selected", nodes=[])
    refused("time_limit limits a search", time_limit=1.0, complete=False)
    refused("resume=True without a file", resume=True)
    refused("no such file", radii="nothing.jsonl")
    wrong = (gcnproof.logits(network, graph).argmax(1) + 1) % 3
    for labels, words in ((None, "class_='labels', but the graph has no labels"), (wrong, "no prediction agrees with a label")):
        with pytest.raises(gcnproof.InputError, match=words):
            gcnproof.collective(network, gcnproof.Graph(graph.adjacency, graph.attributes, labels), 2, 1, class_="labels", progress=False)
    with pytest.raises(gcnproof.InputError, match="the model comes first"):
        gcnproof.collective(graph, network, 2, 1, progress=False)


def test_another_solver_proposes_in_the_laboratory():
    graph, network = small(2, nodes=12, attributes=8)
    ask = {"rows": "count", "complete": True, "progress": False}
    if not gcnproof._native.build()["laboratory"]:
        with pytest.raises(gcnproof.InputError, match="solver='highs' belongs to the laboratory"):
            gcnproof.collective(network, graph, 3, 2, solver="highs", **ask)
        return
    ours = gcnproof.collective(network, graph, [2, 6], 2, **ask)
    theirs = gcnproof.collective(network, graph, [2, 6], 2, solver="highs", **ask)
    assert np.allclose(ours.fractional_bound, theirs.fractional_bound, rtol=0.01) and theirs.run["solver"] == "highs"
    with pytest.raises(gcnproof.InputError, match="rows of counts alone"):
        gcnproof.collective(network, graph, 3, 2, solver="highs", progress=False)
