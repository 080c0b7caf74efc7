"""The contract over Spark Connect, and on executors that are processes of their own, to which everything must travel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or newer")
@pytest.mark.parametrize("address", ["connect", "local-cluster[2,1,1024]"])
def test_the_contract_is_kept(address: str) -> None:
    asked = [sys.executable, "-m", "tests.spark.contract", address]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]
    assert f"the contract is kept on {address}" in done.stdout
