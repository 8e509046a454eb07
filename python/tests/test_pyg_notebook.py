"""The notebook with PyTorch Geometric runs from beginning to end."""

import pytest
from notebook import outputs, run

pytest.importorskip("torch_geometric")


def test_certify_pyg(tmp_path, monkeypatch):
    text = outputs(run("certify_pyg.ipynb", tmp_path, monkeypatch))
    assert "before" in text and "MB" in text and "text/html" in text
