"""ppduck dbt init and ppduck dbt rules; test_build.py runs them over a real project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ppduck.dbt.cli import MACROS, main
from tests.dbt.projects import EXAMPLE


def test_init_writes_over_its_own_file_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: mine\n", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 0
    assert "module: ppduck.dbt" in capsys.readouterr().out
    written = tmp_path / "macros" / "ppduck.sql"
    written.write_text(written.read_text(encoding="utf-8") + "old", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 0
    assert written.read_text(encoding="utf-8") == MACROS.read_text(encoding="utf-8")
    written.write_text("{% macro mine() %}{% endmacro %}", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 1
    assert "is not ppduck's; move it" in capsys.readouterr().err
    assert main(["init", str(tmp_path), "--to", "other/macros"]) == 0


@pytest.mark.parametrize("command", ["init", "rules"])
def test_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, str(tmp_path)]) == 1
    assert "there is no dbt project in" in capsys.readouterr().err


def test_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "manifest.json"
    assert main(["rules", "--manifest", str(manifest)]) == 1
    assert "cannot read" in capsys.readouterr().err
    manifest.write_text("[]", encoding="utf-8")
    assert main(["rules", "--manifest", str(manifest)]) == 1
    assert "is no manifest.json of dbt's" in capsys.readouterr().err
    in_the_call = {
        "name": "m", "resource_type": "model", "raw_code": "{{ ppduck_mask(ref('stg'), mask='egadp') }}",
        "depends_on": {"macros": ["macro.mine.ppduck_mask"], "nodes": ["model.mine.stg"]},
    }  # fmt: skip
    stg = {"name": "stg", "resource_type": "model", "raw_code": "select 1"}
    manifest.write_text(
        json.dumps({"nodes": {"m": in_the_call, "model.mine.stg": stg}, "sources": {}}), encoding="utf-8"
    )
    assert main(["rules", "--manifest", str(manifest)]) == 0
    assert "m      stg     in the model's SQL" in capsys.readouterr().out
    manifest.write_text(json.dumps({"nodes": {}, "sources": {}}), encoding="utf-8")
    assert main(["rules", "--manifest", str(manifest)]) == 0
    assert "no masking rules" in capsys.readouterr().err


def test_usage() -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])


def test_the_example_holds_no_copy_of_the_macros() -> None:
    assert "/macros/ppduck.sql" in (EXAMPLE / ".gitignore").read_text(encoding="utf-8")
