"""Runs with files: resuming, proofs, Ctrl-C, progress, threads."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import gcnproof

NODES = slice(0, 60)


def test_rows_are_written_and_a_finished_run_is_kept(cora, standard, tmp_path):
    out = tmp_path / "rows.parquet"
    results = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, out=out, progress=False)
    again = gcnproof.load(out)
    assert (again.margin == results.margin).all() and again.complete
    with pytest.raises(gcnproof.InputError, match="force=True") as caught:
        gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, out=out, progress=False)
    assert "--" not in str(caught.value)
    resumed = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, out=out, resume=True, progress=False)
    assert (resumed.margin == results.margin).all()
    with pytest.raises(gcnproof.InputError, match="nodes"):
        gcnproof.certify(standard, cora, 12, 0.01, nodes=slice(60, 120), out=out, resume=True, progress=False)
    forced = gcnproof.certify(standard, cora, 5, 0.01, nodes=NODES, out=out, force=True, progress=False)
    assert forced.run["budget"]["global"] == 5


def test_proofs_are_written_and_accepted(cora, standard, tmp_path):
    path = tmp_path / "proofs.jsonl.zst"
    results = gcnproof.certify(standard, cora, 8, 0.01, nodes=NODES, complete=True, proofs=path, progress=False)
    assert results.proofs["proofs"] == 60
    checked = gcnproof.check(standard, cora, path, Q=8, q=0.01, nodes=NODES, progress=False)
    assert checked and checked.rejected == 0 and len(checked.verdicts) == 60
    for node, verdict in checked.verdicts.items():
        assert results[node].verdict == verdict or (verdict == "tie" and results[node].reason == "tie")
    assert checked.proved and checked.facts["exit_code"] == 0 and "proved" in repr(checked)
    # Under a larger budget robust nodes need not be robust, and witnesses stay witnesses.
    larger = gcnproof.check(standard, cora, path, Q=9, nodes=NODES, progress=False)
    assert not larger and "asked about Q = 9, stated Q = 8" in larger.unmet[0] and larger.unmet[0] in repr(larger)
    assert set(larger.verdicts.values()) == {"non_robust"}
    assert not gcnproof.check(standard, cora, path, Q=8, nodes=[100], progress=False)
    assert not gcnproof.check(standard, cora, path, Q=8, progress=False)
    # Without a question nothing is proved but what the file states itself.
    own = gcnproof.check(standard, cora, path, progress=False)
    assert own.proved is None and not own and own.success and own.verdicts == checked.verdicts
    assert own.facts["exit_code"] == 4 and "no question was asked" in repr(own)
    for said in ({"q": 8}, {"nodes": [1]}, {"bound": 3}, {"deployed": "float32"}, {"class_": "labels"}):
        with pytest.raises(gcnproof.InputError, match="a question needs a budget"):
            gcnproof.check(standard, cora, path, **said, progress=False)
    other = gcnproof.Graph(cora.adjacency, cora.attributes)
    assert not gcnproof.check(standard, other, path, Q=8, progress=False)
    with pytest.raises(gcnproof.InputError, match="cannot be read"):
        gcnproof.check(standard, cora, tmp_path / "nothing.jsonl", progress=False)
    results.save(tmp_path / "rows.parquet")
    with pytest.raises(gcnproof.InputError, match="a table of results"):
        gcnproof.check(standard, cora, tmp_path / "rows.parquet", Q=8, progress=False)


def test_the_rules_of_a_check_are_those_of_the_command():
    # The command line's help has the same text, which a test of the command line asserts.
    assert gcnproof._native.RULES in gcnproof.check.__doc__


def test_progress_is_told(cora, standard):
    told = []
    gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=lambda *position: told.append(position))
    assert told and told[-1][:2] == (60, 60)
    done = [position[0] for position in told]
    assert done == sorted(done)


def test_the_bar_is_drawn_with_tqdm(capsys):
    from gcnproof.progress import Progress

    with Progress(True, "certify") as listener:
        listener(1, 10, "")
        listener(10, 10, "done")
    with Progress(False, "certify") as listener:
        assert listener is None
    assert capsys.readouterr().out == ""


def test_an_exception_of_the_listener_ends_the_call(cora, standard):
    class Enough(Exception):
        pass

    def listener(*_):
        raise Enough

    start = time.monotonic()
    with pytest.raises(Enough):
        gcnproof.certify(standard, cora, 30, 0.05, minimize=True, progress=listener)
    assert time.monotonic() - start < 3
    # The next call is not disturbed by what was stopped.
    assert len(gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)) == 60


def test_python_goes_on_meanwhile(cora, standard):
    """The lock of the interpreter is released."""
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    gcnproof.certify(standard, cora, 12, 0.01, nodes=slice(0, 400), complete=True, progress=False, threads=1)
    done.set()
    thread.join()
    assert len(ticks) > 5 and max(np.diff(ticks)) < 1.0


def test_calls_from_several_threads(cora, standard):
    expected = gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False)
    found = []

    def work():
        found.append(gcnproof.certify(standard, cora, 12, 0.01, nodes=NODES, progress=False))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((one.margin == expected.margin).all() for one in found)


SCRIPT = """
import sys, time
import gcnproof
graph = gcnproof.load(sys.argv[1])
network = gcnproof.load(sys.argv[2])

def tell(done, total, message):
    print("done", done, flush=True)

try:
    gcnproof.certify(network, graph, 25, 0.02, minimize=True, progress=tell, out=sys.argv[3], resume=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def interrupted(fixtures, out, rows):
    """A run that is interrupted after so many rows: its exit code, how long it took to end, and what it says."""
    files = [fixtures / "cora.npz", fixtures / "cora_standard.safetensors", out]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if line.startswith("done") and int(line.split()[1]) >= rows:
            break
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if line.startswith("interrupted"):
            break
    took = time.monotonic() - start
    _, errors = process.communicate(timeout=30)
    return process.returncode, took, errors


def test_ctrl_c_ends_a_run_within_a_second_and_it_resumes(fixtures, tmp_path):
    out = tmp_path / "rows.jsonl"
    counts, times = [], []
    for _ in range(2):
        # Rows that are there count as done.
        code, took, errors = interrupted(fixtures, out, max(counts, default=0) + 3)
        assert code in (130, -signal.SIGINT, 1) and "KeyboardInterrupt" in errors, errors
        times.append(took)
        rows = gcnproof.load(out)
        assert not rows.complete
        counts.append(len(rows))
    assert 3 <= counts[0] < counts[1] < 2708, counts
    # The better of the two, with the interpreter's own end: other programs may be busy on the same machine.
    assert min(times) < 1.0, times


def test_a_run_that_was_interrupted_ends_like_one_that_was_not(cora, standard, tmp_path):
    whole = gcnproof.certify(standard, cora, 12, 0.01, nodes=slice(0, 300), complete=True, progress=False)
    out = tmp_path / "rows.parquet"

    def after_some(done, total, message):
        if done >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gcnproof.certify(
            standard, cora, 12, 0.01, nodes=slice(0, 300), complete=True, threads=1, out=out, progress=after_some
        )
    some = gcnproof.load(out)
    assert 0 < len(some) <= 300
    rest = gcnproof.certify(standard, cora, 12, 0.01, nodes=slice(0, 300), complete=True, out=out, resume=True, progress=False)
    assert (rest.verdict == whole.verdict).all() and rest.complete


def test_radii(cora, standard, tmp_path):
    out = tmp_path / "radii.parquet"
    nodes = slice(0, 40)
    radii = gcnproof.radius(standard, cora, 0.01, nodes=nodes, max_Q=8, complete=True, out=out, progress=False)
    assert len(radii) == 40 and radii.summary()["limit"] == 8
    loaded = gcnproof.load(out)
    assert isinstance(loaded, gcnproof.Radii) and (loaded.certified == radii.certified).all()
    for Q in (3, 8):
        results = gcnproof.certify(standard, cora, Q, 0.01, nodes=nodes, complete=True, progress=False)
        assert (results.robust == (radii.certified >= Q)).all()
    one = radii[5]
    assert one.certified == radii.certified[5] and (one.attacked is None or len(one.witness) == one.attacked)
    assert "mean certified Q" in repr(radii) and "<table>" in radii._repr_html_()
    broken = int(radii.node[radii.attacked > 0][0])
    assert abs(radii.apply(broken) - cora.attributes).nnz == radii.attacked[broken]


def test_explanations(cora, standard):
    told = gcnproof.explain(standard, cora, 163, Q=12, q=0.01)
    assert told["node"] == 163 and told["verdict"] in ("robust", "non_robust")
    assert "node 163" in str(told) and told._repr_html_().startswith("<pre>")
    with pytest.raises(gcnproof.InputError, match="no node 99999"):
        gcnproof.explain(standard, cora, 99999)
