"""Verdicts for the network as it runs in float32: columns, files, proofs, radii, explanations, wrong arguments."""

import numpy as np
import pytest
from conftest import small

import gcnproof
from gcnproof.asking import Asked

VERDICTS = {"robust", "non_robust", "rounding_dependent", "undecided"}


def single(network):
    """The same network with weights that float32 holds."""
    layers = [
        gcnproof.Layer(
            layer.name,
            [gcnproof.Term(term.source, term.operator, np.float32(term.weight).astype(float)) for term in layer.terms],
            np.float32(layer.bias).astype(float),
            layer.activation,
        )
        for layer in network.layers
    ]
    return gcnproof.Network(layers)


def test_what_holds_as_deployed_is_said_beside_the_exact_verdict():
    graph, network = small()
    exact = gcnproof.certify(network, graph, Q=1, q=1, progress=False)
    # Models of float64 say that they are rounded.
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        found = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False)
    assert [one.verdict for one in exact] == [one.verdict for one in found]
    assert all(one.deployed is None for one in exact)
    for one in found:
        assert one.deployed in VERDICTS
        assert all(pair.lower == -pair.upper < 0 for pair in one.rounding)
        if one.deployed == "robust":
            assert all(margin.lower > pair.upper for margin, pair in zip(one.margins, one.rounding))
    with pytest.raises(gcnproof.InputError, match="deployed"):
        gcnproof.certify(network, graph, Q=1, q=1, operator_error=3, progress=False)
    with pytest.raises(gcnproof.InputError, match="float32"):
        gcnproof.certify(network, graph, Q=1, q=1, deployed="bfloat16", progress=False)


@pytest.mark.filterwarnings("error")
def test_rounding_of_weights_is_inside_the_bound_and_not_mentioned_where_there_is_none():
    graph, network = small()
    rounded = single(network)
    without = gcnproof.certify(rounded, graph, Q=1, q=1, deployed="float32", progress=False)
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        with_ = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False)
    errors = [[pair.upper for one in found for pair in one.rounding] for found in (with_, without)]
    assert all(more > less for more, less in zip(*errors))
    # The logits of the two networks differ by less than that.
    moved = np.abs(gcnproof.logits(network, graph) - gcnproof.logits(rounded, graph)).max()
    assert 0 < moved < min(errors[0])


def test_fewer_bits_and_larger_operator_errors_have_larger_bounds():
    graph, network = small()
    network = single(network)

    def errors(**options):
        found = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False, **options)
        return np.array([[pair.upper for pair in one.rounding] for one in found])

    plain = errors()
    # With so few bits weights of float32 are rounded too.
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        coarse = errors(unit_roundoff=2.0**-8)
    assert (coarse > 1000 * plain).all()
    assert (errors(operator_error=100) > plain).all() and (errors(flush_subnormals=True) >= plain).all()


def test_files_have_the_columns_and_are_gone_on_with(tmp_path):
    graph, network = small()
    network = single(network)
    path = tmp_path / "rows.parquet"
    found = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False, out=path)
    assert [one.deployed for one in gcnproof.load(path)] == [one.deployed for one in found]
    again = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False, out=path, resume=True)
    assert [one.deployed for one in again] == [one.deployed for one in found]
    # Rows about executions are not gone on with as rows about the exact network.
    with pytest.raises(gcnproof.InputError):
        gcnproof.certify(network, graph, Q=1, q=1, progress=False, out=path, resume=True)


def test_proofs_state_what_they_are_about(tmp_path):
    graph, network = small()
    network = single(network)
    deployed, exact = tmp_path / "deployed.jsonl", tmp_path / "exact.jsonl"
    found = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False, proofs=deployed)
    gcnproof.certify(network, graph, Q=1, q=1, progress=False, proofs=exact)
    nodes = [one.node for one in found if one.deployed in ("robust", "non_robust")]
    question = {"Q": 1, "q": 1, "nodes": nodes, "progress": False}
    proved = gcnproof.check(network, graph, deployed, deployed="float32", **question)
    assert proved.proved
    for one in found:
        expected = one.deployed if one.deployed in ("robust", "non_robust") else None
        assert proved.verdicts.get(one.node) == expected
    assert not gcnproof.check(network, graph, exact, deployed="float32", **question).proved
    assert not gcnproof.check(network, graph, deployed, deployed="float32", operator_error=100, **question).proved
    # What holds for every execution holds in exact arithmetic.
    assert gcnproof.check(network, graph, deployed, deployed="exact", **question).proved
    assert gcnproof.check(network, graph, deployed, **question).proved
    with pytest.raises(gcnproof.InputError, match="float32"):
        gcnproof.check(network, graph, exact, deployed="double", **question)


def test_radii_and_explanations_speak_of_executions():
    graph, network = small()
    network = single(network)
    exact = gcnproof.radius(network, graph, q=2, max_Q=6, progress=False)
    found = gcnproof.radius(network, graph, q=2, max_Q=6, deployed="float32", progress=False)
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        none = gcnproof.radius(network, graph, q=2, max_Q=6, deployed="float32", unit_roundoff=0.0625, progress=False)
    for plain, as_run, coarse in zip(exact, found, none):
        assert (as_run.certified if as_run.certified is not None else -1) <= (plain.certified if plain.certified is not None else -1)
        assert coarse.certified is None
    told = gcnproof.explain(network, graph, 0, Q=1, q=1, deployed="float32")
    assert "as deployed: " in str(told)


def test_parts_of_a_run_over_several_machines_speak_of_executions_too():
    graph, network = small()
    found = gcnproof.selection.Subject(network, graph)
    question = Asked(gcnproof.Flips(Q=1, q=1), execution=gcnproof.Execution()).question(found)
    assert "rounded" in question.notes()[0]
    rows, _ = question.work(found.graph._native(), list(range(9)), False)
    with pytest.warns(gcnproof.GcnproofWarning, match="rounded"):
        alone = gcnproof.certify(network, graph, Q=1, q=1, deployed="float32", progress=False)
    import json

    assert [json.loads(line)["deployed"] for line in rows.splitlines()] == [one.deployed for one in alone]
