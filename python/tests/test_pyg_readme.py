"""The lines of the README, on a model trained in PyTorch Geometric; and the command line on files exported from it says the same."""

import re
import subprocess

import numpy as np
import pytest
from conftest import FIXTURES

import gcnproof

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")


@pytest.fixture(scope="module")
def trained():
    """A GCN of PyTorch Geometric on a part of Cora, trained for a moment."""
    from torch_geometric.data import Data
    from torch_geometric.nn import GCN

    cora = gcnproof.load(FIXTURES / "cora.npz")
    kept = 400
    adjacency = cora.adjacency[:kept, :kept].tocoo()
    data = Data(
        x=torch.tensor(cora.attributes[:kept].toarray(), dtype=torch.float32),
        edge_index=torch.tensor(np.stack([adjacency.col, adjacency.row]), dtype=torch.long),
        y=torch.tensor(cora.labels[:kept]),
    )
    torch.manual_seed(0)
    model = GCN(data.num_features, 16, num_layers=2, out_channels=7, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data.x, data.edge_index), data.y).backward()
        optimizer.step()
    return model, data


def test_the_lines_of_the_readme(trained, tmp_path, monkeypatch, capsys):
    model, data = trained
    text = (FIXTURES.parent / "README.md").read_text()
    lines = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    assert len(lines.strip().splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    names = {"model": model, "data": data}
    exec(lines, names)
    results, node = names["results"], names["node"]
    told = capsys.readouterr().out
    assert "non-robust" in told
    assert int(re.search(r"tensor\((\d)\)", told).group(1)) != results[node].predicted
    assert (tmp_path / "report.html").exists() and len(gcnproof.load(tmp_path / "results.parquet")) == 400


def test_the_command_line_on_exported_files_says_the_same(trained, tmp_path):
    binary = FIXTURES.parent / "target" / "release" / "gcnproof"
    if not binary.exists():
        pytest.skip("the command line is not built: cargo build --release")
    model, data = trained
    graph, network = gcnproof.from_pyg(model, data)
    graph.save(tmp_path / "graph.npz")
    network.save(tmp_path / "model.safetensors")
    np.save(tmp_path / "logits.npy", model.double().eval()(data.x.double(), data.edge_index).detach().numpy())
    model.float()
    words = [binary, "certify", "graph.npz", "model.safetensors", "-Q", "3", "-q", "1%", "--logits", "logits.npy", "--complete"]
    subprocess.run([*words, "--out", "rows.parquet"], check=True, capture_output=True, cwd=tmp_path)
    theirs = gcnproof.load(tmp_path / "rows.parquet")
    ours = gcnproof.certify(model, data, Q=3, q=0.01, complete=True, progress=False)
    assert (theirs.verdict == ours.verdict).all() and theirs.witness == ours.witness and (theirs.margin == ours.margin).all()
    assert {"robust", "non_robust"} <= set(ours.verdict)


def test_masks_of_torch_and_apply(trained):
    model, data = trained
    mask = torch.zeros(400, dtype=torch.bool)
    mask[::7] = True
    results = gcnproof.certify(model, data, Q=8, q=torch.full((400,), 3), nodes=mask, progress=False)
    assert (results.node == np.arange(0, 400, 7)).all()
    before = data.x.clone()
    model.eval()
    for node in results.node[results.verdict == "non_robust"][:10]:
        changed = results.apply(node)
        assert changed.dtype == data.x.dtype and (changed != data.x).sum() == len(results[node].witness)
        logits = model(changed, data.edge_index)[node]
        assert logits.argmax() != results[node].predicted or logits.topk(2).values.diff().abs() < 1e-4
    assert (data.x == before).all()
    sparse = gcnproof.Graph(
        torch.sparse_coo_tensor(data.edge_index.flip(0), torch.ones(data.num_edges), (400, 400)), data.x.to_sparse_csr(), data.y
    )
    assert sparse.digest == results._graph.digest


def test_a_report_and_a_study_of_a_module(trained, tmp_path):
    model, data = trained
    results = gcnproof.certify(model, data, Q=3, q=0.01, progress=False)
    gcnproof.report(results, out=tmp_path / "page.html", model=model)
    told = gcnproof.study({"gcn": model}, data, tmp_path / "study", Q=2, max_Q=2, nodes=[1, 2, 3], sample=0, progress=False)
    assert told.models[0]["model"] == "gcn" and (tmp_path / "page.html").exists()
