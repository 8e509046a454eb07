"""The notebooks with PyTorch Geometric run from beginning to end."""

import numpy as np
import pytest
from notebook import outputs, run

pytest.importorskip("torch_geometric")


def test_certify_pyg(tmp_path, monkeypatch):
    text = outputs(run("certify_pyg.ipynb", tmp_path, monkeypatch))
    assert "before" in text and "MB" in text and "text/html" in text


def test_molecules(tmp_path, monkeypatch):
    """On molecules that are made up, in a file like that of MUTAG: rings with a tail, whose class says whether there is nitrogen."""
    random = np.random.default_rng(0)
    kinds, batch, bonds, labels = [], [], [], []
    for number in range(40):
        first, size, ring = len(kinds), int(random.integers(6, 12)), 6
        own = random.choice(7, size, p=[0.7, 0.1, 0.1, 0.025, 0.025, 0.025, 0.025])
        ends = [(at, (at + 1) % ring) for at in range(ring)] + [(at - 1, at) for at in range(ring, size)]
        bonds += [(first + a, first + b) for a, b in ends] + [(first + b, first + a) for a, b in ends]
        kinds += own.tolist()
        batch += [number] * size
        labels.append(int(1 in own))
    np.savez(tmp_path / "molecules.npz", category=kinds, batch=batch, edge_index=np.array(bonds).T, label=labels)
    monkeypatch.setenv("GCNPROOF_MUTAG", str(tmp_path / "molecules.npz"))
    text = outputs(run("molecules.ipynb", tmp_path, monkeypatch))
    assert "before" in text and "image/svg+xml" in text and "MB" in text


def test_robust_module(tmp_path, monkeypatch):
    text = outputs(run("robust_module.ipynb", tmp_path, monkeypatch))
    assert "right and robust" in text and "rejected 0" in text and "text/html" in text and "MB" in text
