"""The package itself: how it is imported, and that its types are those of its stubs."""

import ast
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import gcnproof


def test_importing_is_quick_and_brings_no_torch():
    code = (
        "import sys, time; start = time.process_time(); import numpy; numpy_took = time.process_time() - start; "
        "import gcnproof; print((time.process_time() - start) / numpy_took - 1, "
        "*[name for name in ('torch', 'torch_geometric', 'scipy', 'pandas', 'tqdm') if name in sys.modules])"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split() for _ in range(5)]
    assert all(len(run) == 1 for run in runs), runs
    # Beside NumPy, which every user imports, and in time of the processor: machines differ and may be busy.
    assert min(float(run[0]) for run in runs) < 1.5, runs


def test_everything_public_is_documented():
    for name in gcnproof.__all__:
        thing = getattr(gcnproof, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod))):
                    assert inspect.getdoc(getattr(thing, part) if isinstance(value, classmethod) else value), f"{name}.{part}"


def test_runs_over_machines_are_documented():
    """Without an import of its own, and with every argument that is taken."""
    for name, local in (("certify", gcnproof.certify), ("radius", gcnproof.radius)):
        text = inspect.getdoc(getattr(gcnproof.distributed, name))
        for argument in inspect.signature(local).parameters:
            assert argument in ("model", "data", "attack", "q", "more") or argument in text, f"{name}: {argument}"
        assert "resume" in text and "address=" in text
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gcnproof.nothing  # noqa: B018


def test_the_signature_of_certify():
    names = list(inspect.signature(gcnproof.certify).parameters)
    assert names[:4] == ["model", "data", "attack", "q"]
    assert names[4:] == "nodes class_ complete minimize time_limit deployed call threads progress proofs out more".split()
    of_verifier = list(inspect.signature(gcnproof.Verifier.certify).parameters)
    assert of_verifier == ["self", *(name for name in names[2:] if name != "call")]


def test_no_function_has_more_than_sixteen_parameters():
    folder = Path(gcnproof.__file__).parent
    for file in [*folder.rglob("*.py"), *folder.rglob("*.pyi")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                own = node.args
                names = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]
                names = [name for name in names if name.arg not in ("self", "cls")]
                assert len(names) <= 16, f"{file}:{node.lineno}: {len(names)} parameters"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_stubs_are_those_of_the_module(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "gcnproof._native"], capture_output=True, text=True, cwd=tmp_path
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_package_is_typed(tmp_path):
    code = tmp_path / "user.py"
    code.write_text(
        "import gcnproof\n"
        "results = gcnproof.certify('m', 'g', 12, 0.01)\n"
        "reveal_type(results[3].witness)\n"
        "gcnproof.certify('m', 'g', 12, 0.01, flips='down')\n"
    )
    if "site-packages" not in gcnproof.__file__:
        pytest.skip("mypy finds installed packages only")
    found = subprocess.run([sys.executable, "-m", "mypy", str(code)], capture_output=True, text=True, cwd=tmp_path)
    assert 'Revealed type is "list[tuple[int, int]]"' in found.stdout.replace("builtins.", ""), found.stdout
    assert found.stdout.count("error") >= 1 and "down" in found.stdout, found.stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_types_of_the_package_hold(tmp_path):
    words = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", str(tmp_path), "-p", "gcnproof"]
    if "site-packages" not in gcnproof.__file__:
        pytest.skip("mypy finds installed packages only")
    found = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
