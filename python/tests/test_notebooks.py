"""The notebook that needs no torch runs from beginning to end."""

import pytest
from notebook import outputs, run


def test_robust_training(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    book = run("robust_training.ipynb", tmp_path, monkeypatch)
    text = outputs(book)
    assert "right and robust" in text and "image/png" in text and "text/html" in text
