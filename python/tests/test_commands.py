"""The calls that write files: train, study, report, validate."""

import numpy as np
import pytest

import gcnproof


@pytest.fixture(scope="module")
def trained(cora):
    """A network that was trained for a moment."""
    return gcnproof.train(cora, "ce", Q=4, q=0.01, hidden=8, epochs=30, seed=3, progress=False)


def test_training_in_memory(cora, trained):
    assert trained.path is None and trained.iterations > 0
    assert trained.evaluation["accuracy"] > 0.3
    logits = gcnproof.logits(trained.network, cora)
    assert logits.shape == (cora.node_count, 7)
    assert (logits.argmax(1) == cora.labels).mean() == pytest.approx(trained.evaluation["accuracy"])
    assert "iterations" in repr(trained)


@pytest.mark.filterwarnings("ignore:the model has collapsed")
def test_training_for_certificates_into_a_file(cora, tmp_path):
    out, log = tmp_path / "robust.safetensors", tmp_path / "log.jsonl"
    labelled = np.zeros(cora.node_count, bool)
    labelled[::10] = True
    told = []
    made = gcnproof.train(
        cora, "rh-u", Q=2, q=3, hidden=8, epochs=6, warm_up=6, labelled=labelled, out=out, log=log, progress=lambda *p: told.append(p)
    )
    assert made.path == str(out) and out.exists() and log.read_text().count("\n") > 6 and told
    with pytest.raises(gcnproof.InputError, match="force=True"):
        gcnproof.train(cora, "ce", out=out, epochs=2, progress=False)
    results = gcnproof.certify(out, cora, 2, 3, nodes=[1, 2, 3], progress=False)
    assert len(results) == 3
    with pytest.raises(TypeError, match="epochs"):
        gcnproof.train(cora, "ce", epoch=2)
    with pytest.raises(gcnproof.InputError, match="loss"):
        gcnproof.train(cora, "mse", progress=False)


# Forty iterations are few for six weight layers of sums.
@pytest.mark.filterwarnings("ignore:the model has collapsed")
@pytest.mark.parametrize("kind", ["gcn", "sage", "sage-sum", "gin"])
def test_training_of_other_layers(cora, kind, tmp_path):
    out = tmp_path / "deep.safetensors"
    made = gcnproof.train(cora, "ce", Q=2, q=1, layers=kind, depth=3, skip=True, hidden=8, epochs=40, out=out, progress=False)
    assert made.evaluation["accuracy"] > 0.3
    assert (gcnproof.logits(made.network, cora).argmax(1) == cora.labels).mean() == pytest.approx(made.evaluation["accuracy"])
    assert len(gcnproof.certify(out, cora, 1, 1, nodes=[1, 2], complete=False, progress=False)) == 2


def test_layers_that_make_no_sense(cora):
    for options, words in [
        ({"layers": "gat"}, "give 'gcn', 'sage', 'sage-sum' or 'gin'"),
        ({"layers": 3, "depth": 3}, "say layers='gcn', depth=3"),
        ({"layers": 0}, "layers=0"),
        ({"depth": 0}, "depth=0"),
        ({"skip": True}, "give depth 3 or more"),
        ({"skip": "yes", "depth": 3}, "skip='yes'"),
        ({"layers": "sage", "message_passing": "mean"}, "layers sage says itself"),
    ]:
        with pytest.raises(gcnproof.InputError, match=words):
            gcnproof.train(cora, "ce", epochs=1, progress=False, **options)


def test_a_study_and_its_report(cora, standard, trained, tmp_path):
    folder = tmp_path / "study"
    told = gcnproof.study(
        {"standard": standard, "short": trained.network}, cora, folder, Q=2, max_Q=2, nodes=slice(0, 30), sample=1, progress=False
    )
    assert [model["model"] for model in told.models] == ["standard", "short"] and "of 30 robust" in repr(told)
    page = told.report(tmp_path / "report.html", title="Two networks")
    text = (tmp_path / "report.html").read_text()
    assert page == str(tmp_path / "report.html") and "Two networks" in text
    again = gcnproof.study([standard], cora, folder, Q=2, max_Q=2, nodes=slice(0, 30), sample=1, progress=False, resume=True)
    assert again.models[0]["nodes"] == 30


def test_a_report_of_results_in_memory(cora, standard, tmp_path):
    results = gcnproof.certify(standard, cora, 5, 0.01, nodes=slice(0, 50), progress=False)
    radii = gcnproof.radius(standard, cora, 0.01, nodes=slice(0, 50), max_Q=6, progress=False)
    page = gcnproof.report(results, radii, out=tmp_path / "page.html", model=standard)
    assert (tmp_path / "page.html").stat().st_size > 10_000 and page.endswith("page.html")
    with pytest.raises(gcnproof.InputError, match="html"):
        gcnproof.report(results, out=tmp_path / "page.pdf")
    with pytest.raises(gcnproof.InputError, match="no such file"):
        gcnproof.report(tmp_path / "nothing.parquet", out=tmp_path / "page.html")


@pytest.mark.filterwarnings("ignore:nothing can be attacked")
def test_budgets_by_node_reach_commands(cora, standard, tmp_path):
    q = np.zeros(cora.node_count, int)
    told = gcnproof.study(standard, cora, tmp_path / "study", Q=3, q=q, max_Q=2, nodes=[3, 4], sample=0, progress=False)
    assert told.models[0]["robust"] == 2


def test_validation_needs_the_laboratory(cora, standard):
    if gcnproof._native.build()["laboratory"]:
        found = gcnproof.validate(standard, cora, 2, 2, sample=1, seed=4, time_limit=5, progress=False)
        assert found and found.pairs
    else:
        with pytest.raises(gcnproof.InputError, match="features laboratory"):
            gcnproof.validate(standard, cora, 2, 2)
