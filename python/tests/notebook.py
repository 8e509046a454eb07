"""Runs a notebook in a kernel of this very interpreter."""

import json
import os
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Executes the notebook and returns it; an exception in a cell is one here."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    arguments = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": arguments, "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", os.fspath(tmp_path))
    monkeypatch.setenv("GCNPROOF_QUICK", "1")
    monkeypatch.setenv("IPYTHONDIR", os.fspath(tmp_path / "ipython"))
    book = nbformat.read(NOTEBOOKS / name, as_version=4)
    client = nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": os.fspath(NOTEBOOKS)}})
    client.execute()
    return book


def outputs(book) -> str:
    """All text that the cells have put out."""
    return json.dumps([cell.get("outputs", []) for cell in book.cells])
