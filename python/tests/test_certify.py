"""Certificates from Python: the verdicts of the command line, and results in every form."""

import itertools
import subprocess

import numpy as np
import pytest
from conftest import small

import gcnproof

NODES = slice(0, 120)


def forward(graph, network, x):
    """The logits by numpy alone."""
    linked = graph.adjacency.toarray().astype(float)
    np.fill_diagonal(linked, 1)
    size = linked.sum(1)
    operator = linked / np.sqrt(np.outer(size, size))
    first, second = network.layers
    hidden = np.maximum(operator @ x @ first.terms[0].weight + first.bias, 0)
    return operator @ hidden @ second.terms[0].weight + second.bias


def test_logits_with_and_without_flips():
    for seed in range(5):
        graph, network = small(seed)
        x = graph.attributes.toarray().astype(float)
        assert np.allclose(gcnproof.logits(network, graph), forward(graph, network, x), rtol=0, atol=1e-12)
        flips = [(0, 1), (3, 2), (8, 5)]
        for node, attribute in flips:
            x[node, attribute] = 1 - x[node, attribute]
        assert np.allclose(gcnproof.logits(network, graph, flips), forward(graph, network, x), rtol=0, atol=1e-12)
    with pytest.raises(gcnproof.InputError, match="no entry"):
        gcnproof.logits(network, graph, [(9, 0)])


def test_logits_of_the_embedded_model(fixtures, cora, standard):
    theirs = np.load(fixtures / "cora_standard_logits.npz")
    ours = gcnproof.logits(standard, cora)
    theirs = theirs[theirs.files[0]]
    assert ours.shape == theirs.shape and ours.dtype == np.float64
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(theirs).max()


@pytest.mark.parametrize("seed", range(4))
def test_every_attack_is_tried(seed):
    """Small enough for all attacks: verdicts and worst margins are the truth."""
    graph, network = small(seed, nodes=5, attributes=4)
    x = graph.attributes.toarray().astype(float)
    entries = list(itertools.product(range(5), range(4)))
    attacks = [flips for size in range(3) for flips in itertools.combinations(entries, size)]
    attacks = [flips for flips in attacks if all(sum(node == n for n, _ in flips) <= 1 for node in range(5))]
    plain = forward(graph, network, x)
    lowest = np.full(plain.shape, np.inf)
    for flips in attacks:
        changed = x.copy()
        for node, attribute in flips:
            changed[node, attribute] = 1 - changed[node, attribute]
        logits = forward(graph, network, changed)
        kept = logits[np.arange(5), plain.argmax(1)]
        lowest = np.minimum(lowest, kept[:, None] - logits)
    results = gcnproof.certify(network, graph, 2, 1, minimize=True, progress=False)
    for node in range(5):
        found = results[node]
        truth = min(lowest[node, margin.class_] for margin in found.margins)
        assert found.verdict == ("robust" if truth > 0 else "non_robust")
        for margin in found.margins:
            assert margin.lower == pytest.approx(lowest[node, margin.class_], abs=1e-9)
        assert len(found.exact_margins) == 2


def test_files_and_memory_agree(fixtures, cora, standard):
    here = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    files = gcnproof.certify(fixtures / "cora_standard.safetensors", fixtures / "cora.npz", 12, 0.01, nodes=NODES, progress=False)
    assert (here.verdict == files.verdict).all() and (here.margin == files.margin).all()
    assert here.witness == files.witness
    assert here.run["budget"]["local"] == 14
    by_node = gcnproof.certify(standard, cora, 12, np.full(cora.node_count, 14), nodes=NODES, progress=False, threads=1)
    assert (here.margin == by_node.margin).all()


def test_the_columns_and_the_rows(cora, standard):
    results = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    assert len(results) == 120 and (results.node == np.arange(120)).all() and results.complete
    assert (results.label == cora.labels[:120]).all()
    assert (results.robust == (results.verdict == "robust")).all()
    assert set(results.verdict) <= {"robust", "non_robust", "undecided"}
    logits = gcnproof.logits(standard, cora)
    assert (results.predicted == logits.argmax(1)[:120]).all()
    for found in results:
        row = results[found.node]
        assert row.verdict == results.verdict[found.node] and row.node == found.node
        worst = min(row.margins, key=lambda margin: margin.lower)
        assert (worst.lower, worst.class_) == (results.margin[row.node], results.worst_class[row.node])
        assert bool(row.witness) <= (row.verdict == "non_robust")
    assert 5 in results and 500 not in results
    with pytest.raises(KeyError, match="not among"):
        results[500]
    found = results.summary()
    assert found["robust"] + found["non_robust"] + found["undecided"] == found["nodes"] == 120
    assert "120 nodes" in repr(results) and "Q = 12, q = 14" in str(results)
    page = results._repr_html_()
    assert "non-robust" in page and page.count("<tr>") == 3 + 8
    with pytest.raises(ValueError, match="read-only"):
        results.margin[0] = 1


def test_witnesses_break_the_network(cora, standard):
    results = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    broken = results.node[results.verdict == "non_robust"]
    assert len(broken) > 10
    for node in broken[:10]:
        row = results[node]
        changed = results.apply(node)
        assert changed.shape == cora.attributes.shape
        assert abs(changed - cora.attributes).nnz == len(row.witness) <= 12
        again = gcnproof.Graph(cora.adjacency, changed, cora.labels)
        logits = gcnproof.logits(standard, again)[node]
        others = np.delete(logits, row.predicted)
        assert others.max() >= logits[row.predicted] - 1e-9
        assert np.allclose(logits, gcnproof.logits(standard, cora, row.witness)[node])
    robust = results.node[results.robust][0]
    with pytest.raises(gcnproof.InputError, match="no witness"):
        results.apply(robust)


def test_tables_of_other_libraries(cora, standard):
    results = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    pandas = pytest.importorskip("pandas")
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and (frame["verdict"] == results.verdict).all()
    assert frame.index.name == "node" and "node" not in frame and frame.loc[7, "predicted"] == results[7].predicted and frame["witness"].iloc[0] == results.witness[0]
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(results.to_arrow())
    assert table.num_rows == 120 and table["node"].to_pylist() == list(range(120))
    row = table.slice(0, 1).to_pylist()[0]
    assert [margin["class"] for margin in row["margins"]] == [margin.class_ for margin in results[0].margins]
    assert [margin["lower"] for margin in row["margins"]] == [margin.lower for margin in results[0].margins]
    broken = int(results.node[results.verdict == "non_robust"][0])
    flips = [(flip["node"], flip["attribute"]) for flip in table["witness"][broken].as_py()]
    assert flips == results[broken].witness
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(results.to_arrow())["verdict"].to_list() == results.verdict.tolist()


def test_saved_results_are_those_of_the_command_line(cora, standard, tmp_path):
    results = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    for ending in ("parquet", "jsonl", "csv"):
        path = tmp_path / f"results.{ending}"
        results.save(path)
        again = gcnproof.load(path, graph=cora)
        assert isinstance(again, gcnproof.Results)
        assert (again.margin == results.margin).all() and again.witness == results.witness and again.run == results.run
        assert again.complete
        with pytest.raises(gcnproof.InputError, match="force=True"):
            results.save(path)
        results.save(path, force=True)
    node = int(results.node[results.verdict == "non_robust"][0])
    assert abs(again.apply(node) - results.apply(node)).nnz == 0
    with pytest.raises(gcnproof.InputError, match="graph"):
        gcnproof.load(path).apply(node)


def test_in_memory_nothing_touches_the_disk(problem, tmp_path, monkeypatch):
    graph, network = problem
    graph._native()
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.chmod(0o500)
    monkeypatch.setenv("TMPDIR", str(folder))
    gcnproof.certify(network, graph, 2, 1, complete=True, progress=False)
    gcnproof.radius(network, graph, 1, progress=False)
    folder.chmod(0o700)
    assert not list(folder.iterdir())


@pytest.mark.filterwarnings("ignore:nothing can be attacked")
def test_frozen_parts_and_directions(problem):
    graph, network = problem
    free = gcnproof.certify(network, graph, 3, 2, minimize=True, progress=False)
    for options in (
        {"freeze_nodes": slice(0, 4)},
        {"freeze_attributes": [0, 1, 2]},
        {"flips": "add"},
        {"flips": "remove"},
        {"freeze_nodes": np.arange(9) % 2 == 0},
    ):
        less = gcnproof.certify(network, graph, 3, 2, minimize=True, progress=False, **options)
        assert (less.margin >= free.margin - 1e-12).all() and (less.margin > free.margin + 1e-12).any()
    for found in gcnproof.certify(network, graph, 3, 2, complete=True, progress=False, flips="add", freeze_nodes=[0]):
        for node, attribute in found.witness:
            assert node != 0 and graph.attributes[node, attribute] == 0
    none = gcnproof.certify(network, graph, 3, 2, progress=False, freeze_nodes=slice(None))
    assert none.robust.all()


def test_labels_as_the_class_to_be_kept(problem):
    graph, network = problem
    results = gcnproof.certify(network, graph, 0, 1, class_="labels", progress=False)
    assert (results.reference == graph.labels).all()
    assert (results.robust == (results.predicted == graph.labels)).all()
    without = gcnproof.Graph(graph.adjacency, graph.attributes)
    with pytest.raises(gcnproof.InputError, match="class_='labels', but the graph has no labels"):
        gcnproof.certify(network, without, 1, 1, class_="labels", progress=False)
    some = gcnproof.Graph(graph.adjacency, graph.attributes, np.where(np.arange(9) == 0, -1, graph.labels))
    with pytest.raises(gcnproof.InputError, match="class_='labels': node 0 has no label\n  help: use class_='predicted'"):
        gcnproof.certify(network, some, 1, 1, class_="labels", progress=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"complete": True, "minimize": True}, "minimize decides"),
        ({"time_limit": 1.0, "complete": False}, "complete=True"),
        ({"time_limit": -1.0, "complete": True}, "seconds"),
        ({"nodes": []}, "no node is selected"),
        ({"nodes": [9]}, "there is no node 9"),
        ({"nodes": [-1]}, "there is no node -1"),
        ({"bound": "good"}, "'best', 'paper' or 'anchored'"),
        ({"class_": "mine"}, "'predicted' or 'labels'"),
        ({"flips": "none"}, "'both', 'add' or 'remove'"),
        ({"resume": True}, "out="),
        ({"resume": True, "proofs": "p.jsonl"}, "out="),
        ({"resume": True, "force": True, "out": "rows.csv"}, "one of them"),
        ({"proofs": "p.json"}, ".jsonl"),
        ({"threads": 0}, "from 1 to 1024"),
        ({"freeze_attributes": [77]}, "77"),
        ({"out": "rows.txt"}, "parquet"),
    ],
)
def test_wrong_arguments_have_a_remedy(problem, options, words, tmp_path, monkeypatch):
    graph, network = problem
    monkeypatch.chdir(tmp_path)
    with pytest.raises(gcnproof.InputError) as caught:
        gcnproof.certify(network, graph, 2, 1, progress=False, **options)
    assert words in str(caught.value)
    for Q, q in ((-1, 1), (2.5, 1), (True, 1), (1, 1.5)):
        with pytest.raises(gcnproof.InputError):
            gcnproof.certify(network, graph, Q, q, progress=False)


def test_the_command_line_says_the_same(fixtures, cora, standard, tmp_path):
    binary = fixtures.parent / "target" / "release" / "gcnproof"
    if not binary.exists():
        pytest.skip("the command line is not built: cargo build --release")
    path = tmp_path / "rows.jsonl"
    graph, model = tmp_path / "graph.npz", tmp_path / "model.safetensors"
    cora.save(graph)
    standard.save(model)
    words = [binary, "certify", graph, model, "-Q", "8", "-q", "1%", "--nodes", "0-119", "--complete", "--out", path]
    subprocess.run(words, check=True, capture_output=True)
    theirs = gcnproof.load(path)
    ours = gcnproof.certify(standard, cora, 8, 0.01, nodes=NODES, complete=True, progress=False)
    assert (theirs.verdict == ours.verdict).all() and (theirs.margin == ours.margin).all()
    assert theirs.run == ours.run
