"""A few kills of the soak test in `benchmarks/bench_kills.py`, which asks for many more."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_kills_of_commands_and_their_programs_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import bench_kills

    # As patient as a busy machine needs: an orphan lives for ten minutes.
    monkeypatch.setattr(bench_kills, "SECONDS", 30.0)
    counts = bench_kills.Soak(tmp_path, 3).go(5)
    assert all(counts[f"kills of {command}"] >= 1 for command in bench_kills.COMMANDS)
    assert counts["studies"] >= 1
    kinds = ("rounds lost", "refused", "orphans", "half files", "differ")
    assert {kind: counts[kind] for kind in kinds} == dict.fromkeys(kinds, 0), counts
    assert sys.modules.pop("bench_kills")
