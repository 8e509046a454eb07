"""One question for all attackers; a verifier that is bound once; results that are sliced, copied, drawn and kept after Ctrl-C."""

import copy
import pickle
import re

import numpy as np
import pytest
from conftest import FIXTURES, small

import gcnproof
from gcnproof import Edges, Execution, Flips

QUIET = {"progress": False}


def same(one, other):
    """Are the rows the same, but for the time that they took?"""
    rows = [[{name: part for name, part in of._rows.row(at).items() if "seconds" not in name} for at in range(len(of))] for of in (one, other)]
    return rows[0] == rows[1] and type(one) is type(other)


def timeless(told):
    """An explanation without the time that it took."""
    return re.sub(r"[0-9.]+ (ms|s)\b", "", str(told))


def test_an_attack_is_one_value_and_has_short_forms(tmp_path):
    graph, network = small(3)
    pairs = [
        (Flips(Q=2, q=1), {"Q": 2, "q": 1}),
        (Flips(2, 0.5, direction="add", freeze_nodes=[1], freeze_attributes=[0]), {"Q": 2, "q": 0.5, "flips": "add", "freeze_nodes": [1], "freeze_attributes": [0]}),
        (Flips(2, 1, bound="paper", margins="tight"), {"Q": 2, "q": 1, "bound": "paper", "margins": "tight"}),
        (Edges(remove=2, at_node=1), {"edges": "remove", "E": 2, "e": 1}),
        (Edges(remove=2, keep_one_edge=False, freeze_nodes=[0]), {"E": 2, "edges": "remove", "keep_one_edge": False, "freeze_nodes": [0]}),
    ]
    for attack, short in pairs:
        one, other = gcnproof.certify(network, graph, attack, **QUIET), gcnproof.certify(network, graph, **short, **QUIET)
        assert same(one, other) and one.run == other.run and type(one) is gcnproof.Results
    assert same(gcnproof.certify(network, graph, 2, 1, **QUIET), gcnproof.certify(network, graph, Flips(2, 1), **QUIET))
    limits = [(Flips(q=1, Q=3), {"q": 1, "max_Q": 3}), (Edges(at_node=1, remove=3), {"edges": "remove", "e": 1, "max_E": 3})]
    for attack, short in limits:
        one, other = gcnproof.radius(network, graph, attack, **QUIET), gcnproof.radius(network, graph, **short, **QUIET)
        assert same(one, other) and one.run == other.run and type(one) is gcnproof.Radii
    for attack, short in ((Flips(2, 1), {"Q": 2, "q": 1}), (Edges(2, 1), {"edges": "remove", "E": 2, "e": 1})):
        assert timeless(gcnproof.explain(network, graph, 0, attack)) == timeless(gcnproof.explain(network, graph, 0, **short))
        proofs = tmp_path / f"{type(attack).__name__}.jsonl"
        gcnproof.certify(network, graph, attack, complete=True, proofs=proofs, **QUIET)
        assert gcnproof.check(network, graph, proofs, attack, **QUIET) and gcnproof.check(network, graph, proofs, **short, **QUIET)
    assert same(gcnproof.collective(network, graph, [1, 2], Flips(q=1), **QUIET), gcnproof.collective(network, graph, [1, 2], q=1, **QUIET))
    with pytest.raises(gcnproof.InputError, match="beside Flips"):
        gcnproof.certify(network, graph, Flips(2, 1), flips="add", **QUIET)
    with pytest.raises(gcnproof.InputError, match="beside Edges"):
        gcnproof.certify(network, graph, Edges(2), edges="remove", **QUIET)
    with pytest.raises(gcnproof.InputError, match="a str is no attack"):
        gcnproof.certify(network, graph, "remove", **QUIET)


def test_parts_of_a_run_are_the_same_for_every_attacker():
    graph, network = small(4)
    subject = gcnproof.selection.Subject(network, graph)
    for attack in (Flips(2, 1), Edges(2, 1)):
        for radii in (False, True):
            asked = gcnproof.asking.Asked(attack, complete=True, radii=radii)
            question = asked.question(subject)
            gathering = question.gather({"proofs": None, "out": None, "resume": False, "force": False})
            for nodes in ([0, 1, 2], [3, 4, 5, 6, 7, 8]):
                gathering.push(*question.work(graph._native(), nodes, False))
            assert len(gathering.open()) == 0
            rows, facts = gathering.finish()
            one = (gcnproof.Radii if radii else gcnproof.Results)(rows, facts, graph)
            whole = (gcnproof.radius if radii else gcnproof.certify)(network, graph, attack, complete=True, **QUIET)
            assert same(one, whole) and one.run == whole.run


def test_what_was_asked_for_is_what_prints():
    graph, network = small()
    exact = gcnproof.certify(network, graph, Q=0, q=1, **QUIET)
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        found = gcnproof.certify(network, graph, Q=0, q=1, deployed="float32", unit_roundoff=2.0**-4, **QUIET)
        again = gcnproof.certify(network, graph, Flips(0, 1), deployed=Execution(unit_roundoff=2.0**-4), **QUIET)
    assert same(found, again) and (found.verdict == exact.verdict).all() and exact.robust.any()
    assert (found.robust == (found.deployed == "robust")).all() and found.robust.sum() < exact.robust.sum()
    assert [row.robust for row in found] == found.robust.tolist()
    told = found.summary()
    assert told["robust"] == found.robust.sum() and told["exact"]["robust"] == exact.robust.sum() and "exact" not in exact.summary()
    lines = str(found).splitlines()
    assert lines.index("every execution in float32's range with 4 bits:") < lines.index("exact arithmetic:")
    assert repr(found).index("every execution") < repr(found).index("exact arithmetic") and "as deployed" in found._repr_html_()
    assert "execution" not in str(exact) and "deployed" not in exact._repr_html_()
    frame = found.to_pandas()
    assert list(frame.columns).index("deployed") < list(frame.columns).index("verdict")


def test_a_verifier_is_bound_once(monkeypatch):
    graph, network = small(1)
    v = gcnproof.Verifier(network, graph)
    monkeypatch.setattr(gcnproof.selection.Subject, "__init__", None)
    results = v.certify(Flips(2, 1), **QUIET)
    monkeypatch.undo()
    assert same(results, gcnproof.certify(network, graph, 2, 1, **QUIET)) and same(v.certify(Q=2, q=1, **QUIET), results)
    assert same(v.radius(1, max_Q=3, **QUIET), gcnproof.radius(network, graph, 1, max_Q=3, **QUIET))
    assert same(v.collective([0, 1], q=1, **QUIET), gcnproof.collective(network, graph, [0, 1], q=1, **QUIET))
    assert timeless(v.explain(0, Q=2, q=1)) == timeless(gcnproof.explain(network, graph, 0, Q=2, q=1))
    assert (v.logits() == gcnproof.logits(network, graph)).all() and v.graph is graph and "9 nodes" in repr(v)
    with pytest.raises(gcnproof.InputError, match="call"):
        v.certify(Q=2, q=1, call=lambda model, data: None)
    with pytest.raises(gcnproof.InputError, match="is not called"):
        gcnproof.certify(network, graph, 2, 1, call=lambda model, data: None)


class Unread:
    """A model that must not be read."""

    def describe(self):
        raise AssertionError("the model was read")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m, g: gcnproof.certify(m, g, Q=-1, q=1), "Q=-1"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1.5), "q=1.5"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q="1%"), "q='1%'"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, flips="down"), "'both', 'add' or 'remove'"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, nodes="test_mask"), "nodes=data.test_mask"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, class_="mine"), "'predicted' or 'labels'"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, deployed="bfloat16"), r"Execution\(unit_roundoff=2\*\*-8\)"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, deployed="float16"), "float16 and float64 have another range"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, threads=0), "from 1 to 1024"),
        (lambda m, g: gcnproof.certify(m, g, Q=2**70, q=1), "at most 9223372036854775807 flips"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, deployed=Execution(operator_error=-1)), "operator_error=-1"),
        (lambda m, g: gcnproof.certify(m, g, Q=1, q=1, complete=True, time_limit="5"), "number of seconds"),
        (lambda m, g: gcnproof.certify(m, g, Flips(3)), "q is missing"),
        (lambda m, g: gcnproof.certify(m, None, 1, 1), "no graph is given"),
        (lambda m, g: gcnproof.study(m, g, "study", Edges(3)), r"study is about flips of 0/1 attributes, not about Edges"),
        (lambda m, g: gcnproof.radius(m, g, Q=5, q=1), "max_Q=5"),
        (lambda m, g: gcnproof.radius(m, g, max_Q=5), "q is missing"),
        (lambda m, g: gcnproof.radius(m, g, 1, max_E=5), "max_E|together"),
        (lambda m, g: gcnproof.collective(m, g, Q=20), "budgets=20"),
        (lambda m, g: gcnproof.collective(m, g, [1], Edges(2)), "changed edges"),
        (lambda m, g: gcnproof.explain(m, g, [0, 1]), "explain takes one node"),
        (lambda m, g: gcnproof.check(m, g, "proofs.jsonl", nodes=[1]), "a question needs a budget"),
    ],
)
def test_arguments_are_checked_before_the_model_is_read(ask, words):
    graph, _ = small()
    with pytest.raises(gcnproof.InputError, match=words):
        ask(Unread(), graph)


def test_an_argument_that_does_not_exist_has_a_neighbour():
    graph, _ = small()
    with pytest.raises(TypeError, match="'node': is nodes meant"):
        gcnproof.certify(Unread(), graph, Q=1, q=1, node=[3])
    with pytest.raises(TypeError, match="'treads'"):
        gcnproof.collective(Unread(), graph, [1], q=1, treads=2)


def test_results_are_copied_and_pickled(tmp_path):
    graph, network = small(2)
    found = [
        gcnproof.certify(network, graph, Flips(2, 1), minimize=True, **QUIET),
        gcnproof.certify(network, graph, Edges(2, 1), complete=True, **QUIET),
        gcnproof.radius(network, graph, Flips(q=1, Q=3), complete=True, **QUIET),
        gcnproof.radius(network, graph, Edges(remove=3), complete=True, **QUIET),
        gcnproof.collective(network, graph, [0, 1, 2], q=1, **QUIET),
    ]
    for one in found:
        one.to_pandas()
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
            assert same(one, again) and again.run == one.run and repr(again) == repr(one) and again.seconds == one.seconds
            assert (again.to_pandas() == one.to_pandas()).all().all()
        broken = next((key for key, witness in zip(one._columns[one._key], one.witness, strict=True) if witness), None)
        if broken is not None:
            assert (pickle.loads(pickle.dumps(one)).apply(broken) != one.apply(broken)).nnz == 0


def test_some_of_the_rows_are_a_table_again(tmp_path):
    graph, network = small(2)
    results = gcnproof.certify(network, graph, 2, 1, **QUIET)
    assert results[0:3].node.tolist() == [0, 1, 2] and results[::4].node.tolist() == [0, 4, 8] and results[[7, 2]].node.tolist() == [2, 7]
    assert (results[results.robust].verdict == "robust").all() and len(results[results.robust]) == results.robust.sum()
    assert results[np.arange(9) % 2 == 0].node.tolist() == [0, 2, 4, 6, 8] and results[3:5][4] == results[4]
    some = results[3:6]
    assert some.complete and "3 nodes" in repr(some)
    # The rows are those of a run about these nodes.
    assert some.run == gcnproof.certify(network, graph, 2, 1, nodes=slice(3, 6), **QUIET).run
    some.save(tmp_path / "rows.parquet")
    again = gcnproof.certify(network, graph, 2, 1, nodes=slice(3, 6), out=tmp_path / "rows.parquet", resume=True, **QUIET)
    assert same(again, some) and gcnproof.load(tmp_path / "rows.parquet").complete
    with pytest.raises(gcnproof.InputError, match="a mask of 3 entries for 9 rows"):
        results[[True, False, True]]
    with pytest.raises(KeyError, match="node 99"):
        results[[1, 99]]
    curve = gcnproof.collective(network, graph, [0, 1, 2], q=1, **QUIET)
    assert curve[1:].Q.tolist() == [1, 2] and curve[[2]][2] == curve[2] and curve[1:].run["budgets"] == [1, 2]


def test_frames_of_pandas_can_be_worked_with(tmp_path):
    pytest.importorskip("pandas")
    graph, network = small(2)
    graph = gcnproof.Graph(graph.adjacency, graph.attributes, graph.labels, class_names=["a", "b", "c"])
    for found in (gcnproof.certify(network, graph, 2, 1, **QUIET), gcnproof.radius(network, graph, 1, max_Q=2, **QUIET)):
        frame = found.to_pandas()
        assert len(frame.merge(frame, on="node")) == 9 and len(frame.groupby("node")) == 9
        assert frame.sort_values("node").index.tolist() == frame.reset_index()["node"].tolist() == list(range(9))
        assert frame["predicted_name"].tolist() == ["abc"[at] for at in found.predicted] and found.class_names == ["a", "b", "c"]
    assert "<td>a</td>" in gcnproof.certify(network, graph, 2, 1, nodes=found.node[found.predicted == 0], **QUIET)._repr_html_()


class Axes:
    """What stands for the axes of matplotlib: it keeps what is drawn."""

    def __init__(self):
        self.drawn = {}

    def __getattr__(self, name):
        return lambda *args, **options: self.drawn.setdefault(name, []).append((args, options))


def test_results_are_drawn(monkeypatch):
    graph, network = small(2)
    results = gcnproof.certify(network, graph, 2, 1, **QUIET)
    (kinds, counts), _ = results.plot(Axes()).drawn["bar"][0]
    assert dict(zip(kinds, counts, strict=True))["robust"] == results.robust.sum() and sum(counts) == 9
    radii = gcnproof.radius(network, graph, 1, max_Q=4, complete=True, **QUIET)
    (most, certified), _ = radii.plot(Axes()).drawn["step"][0]
    assert most.tolist() == [0, 1, 2, 3, 4] and certified[2] == (radii.certified >= 2).mean()
    curve = gcnproof.collective(network, graph, [0, 1, 2], q=1, **QUIET)
    (Q, certified), _ = curve.plot(Axes()).drawn["plot"][0]
    assert (Q == curve.Q).all() and (certified == curve.certified).all()
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(gcnproof.InputError, match="pip install matplotlib"):
        results.plot()


def test_an_interruption_carries_the_rows_that_are_done(cora, standard):
    def after_some(done, total, message):
        if done >= 20:
            raise KeyboardInterrupt

    ask = {"nodes": slice(0, 600), "threads": 1, "progress": after_some}
    with pytest.raises(KeyboardInterrupt) as caught:
        gcnproof.certify(standard, cora, 12, 0.01, complete=True, **ask)
    part = caught.value.partial
    assert isinstance(part, gcnproof.Results) and 20 <= len(part) < 600 and not part.complete
    whole = gcnproof.certify(standard, cora, 12, 0.01, complete=True, nodes=part.node, **QUIET)
    assert (whole.verdict == part.verdict).all() and "interrupted" in str(part)
    with pytest.raises(KeyboardInterrupt) as caught:
        gcnproof.radius(standard, cora, 0.01, max_Q=6, complete=True, **ask)
    assert isinstance(caught.value.partial, gcnproof.Radii) and len(caught.value.partial) >= 20


def test_radii_say_what_was_not_looked_at():
    graph, network = small(2)
    frozen = np.arange(9) % 2 == 0
    radii = gcnproof.radius(network, graph, 1, freeze_nodes=frozen, complete=True, **QUIET)
    found = radii.summary()
    assert found["limit"] == 40 and found["at_limit"] == (radii.certified >= 40).sum() > 0
    assert f"{found['at_limit']} nodes withstand Q = 40, and more was not looked at: max_Q says how far" in repr(radii) and "not looked at" in radii._repr_html_()
    assert "mean certified Q ≥" in repr(radii)
    assert "not looked at" not in repr(radii[radii.certified < 40])
    edges = gcnproof.radius(network, graph, Edges(keep_one_edge=False), complete=True, **QUIET)
    assert edges.summary()["limit"] == 40 and ("max_E says how far" in repr(edges)) == bool(edges.summary()["at_limit"])


def test_networks_that_were_trained_and_graphs_of_results(cora, tmp_path):
    made = gcnproof.train(cora, "ce", Flips(Q=4, q=0.01), hidden=8, epochs=3, seed=3, **QUIET)
    assert same(gcnproof.certify(made, cora, 2, 1, nodes=[1, 2], **QUIET), gcnproof.certify(made.network, cora, 2, 1, nodes=[1, 2], **QUIET))
    with pytest.raises(gcnproof.InputError, match="not about Edges"):
        gcnproof.train(cora, "ce", Edges(2))


def test_operators_that_edges_do_not_determine_are_told_of():
    graph, network = small()
    first, second = network.layers
    own = gcnproof.Layer("own", [gcnproof.Term("x", graph.adjacency.astype(float), first.terms[0].weight)], first.bias)
    network = gcnproof.Network([own, gcnproof.Layer("logits", [gcnproof.Term("own", "gcn", second.terms[0].weight)], second.bias, "none")])
    with pytest.raises(gcnproof.InputError, match="layer 'own' passes messages by a matrix of its own"):
        gcnproof.certify(network, graph, Edges(1), **QUIET)
    assert len(gcnproof.certify(network, graph, Flips(1, 1), **QUIET)) == 9


def test_files_are_told_of_in_python(cora, standard, tmp_path):
    results = gcnproof.certify(standard, cora, 2, 0.01, nodes=[1, 2], **QUIET)
    (tmp_path / "rows.parquet").write_text("something else")
    told = []
    for ask in (
        lambda: results.save(tmp_path / "rows.txt"),
        lambda: results.save(tmp_path / "rows.parquet"),
        lambda: results.save(tmp_path / "no" / "folder" / "rows.csv"),
        lambda: gcnproof.report(results, out=tmp_path / "page.pdf"),
        lambda: gcnproof.report(tmp_path / "nothing.parquet", out=tmp_path / "page.html"),
        lambda: gcnproof.report(out=tmp_path / "page.html"),
        lambda: gcnproof.report(FIXTURES / "cora.npz", out=tmp_path / "page.html"),
        lambda: gcnproof.report(results, graph=small()[0], out=tmp_path / "page.html"),
        lambda: gcnproof.check(standard, cora, tmp_path / "nothing.jsonl", Q=1, **QUIET),
        lambda: gcnproof.report(cora, out=tmp_path / "page.html"),
        lambda: gcnproof.load(tmp_path / "rows.parquet"),
        lambda: gcnproof.load(results),
    ):
        with pytest.raises(gcnproof.InputError) as caught:
            ask()
        told.append(str(caught.value))
        assert "--" not in told[-1] and "resume" not in told[-1] and "GRAPH" not in told[-1] and not any(f"gcnproof {command}" in told[-1] for command in ("certify", "report", "study", "radius")), told[-1]
