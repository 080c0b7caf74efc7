"""examples/tour.ipynb, run anew from its first cell to its last, prints what is stored in it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "tour.ipynb"
# In the order of the story.
TOLD = (
    *("relationships(", "recommend_mask(", "egadp_mask(", "moments_check(", "release_check(", "assert_release("),
    *("lstsq(", "rr_mask(", "rr_query(", "rr_reconstruct(", "attribute_disclosure("),
)


def read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def printed(notebook: Any) -> list[str]:
    """The text that each cell printed; pictures are left out, since fonts differ from machine to machine."""
    return [
        "".join(output["text"] for output in cell.get("outputs", []) if output["output_type"] == "stream")
        for cell in notebook.cells
    ]


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel that is this very Python, whatever others the machine has."""
    folder = tmp_path / "kernels" / "own-python"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "own Python", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    return folder.name


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # Jupyter's own
def test_a_fresh_run_prints_what_is_stored(kernel: str, tmp_path: Path) -> None:
    fresh = read()
    for cell in fresh.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(fresh, timeout=300, kernel_name=kernel, resources={"metadata": {"path": str(tmp_path)}}).execute()
    stored, found = printed(read()), printed(fresh)
    assert sum(map(bool, stored)) >= 8
    assert found == stored
    assert all(output["output_type"] != "error" for cell in fresh.cells for output in cell.get("outputs", []))
    pictures = [output for cell in fresh.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("image/png" in picture["data"] for picture in pictures) == 3


def test_it_tells_the_whole_story_in_order() -> None:
    notebook = read()
    text = "\n".join(code(notebook))
    places = [text.index(step) for step in TOLD]
    assert places == sorted(places)
    said = "\n".join(printed(notebook))
    assert "equal: True" in said, "the analyst's regression is the original's"
    assert said.count("│ true") == 18
    assert "│ false" not in said
    assert "9 of 9 true shares" in said
    guessed = re.search(r"is right for ([\d.]+)%; guessed from the view, for ([\d.]+)%", said)
    assert guessed is not None, "what is known of groups is no secret, and the notebook says so"
    assert guessed[1] == guessed[2]
    assert "handed_over: by position, more than half of the diagnoses are right: False" in said
    assert text.count("ORDER BY random()") == 2, "both tables that leave the house"
    assert "ylim" not in text, "all patients are in the picture"
    explained = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(explained) >= 8
    assert all(len(each) < 800 for each in explained), "short texts"


def test_it_is_small_clean_and_of_no_machine() -> None:
    notebook, text = read(), NOTEBOOK.read_text(encoding="utf-8")
    nbformat.validate(notebook)
    assert len(text) < 300_000
    assert not re.search(r"/tmp|/home/|/root|/Users/|site-packages|C:\\\\", text)
    assert not re.search("Traceback|Warning", text)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run once, from above"
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert all("execution" not in cell.metadata for cell in notebook.cells), "no times"
    assert "A real release has none" in text, "who copies a seed is warned"
