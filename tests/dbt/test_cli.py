"""ppduck dbt init and ppduck dbt rules; test_build.py runs them over a real project."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

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
    git = shutil.which("git")
    if git is None or not (EXAMPLE.parents[1] / ".git").exists():
        pytest.skip("not in a clone")
    ran = subprocess.run([git, "ls-files", "."], cwd=EXAMPLE, capture_output=True, text=True, check=True)
    assert "dbt_project.yml" in ran.stdout.split()
    assert "macros/ppduck.sql" not in ran.stdout.split()


def test_init_writes_where_dbt_looks(tmp_path: Path) -> None:
    project = tmp_path / "dbt_project.yml"
    for told, folder in [
        ("macro-paths: [jinja, macros]", "jinja"),
        ("macro-paths: []", "macros"),
        ("macro-paths:", "macros"),
        ("name: [", "macros"),
        ("", "macros"),
    ]:
        project.write_text(told, encoding="utf-8")
        assert main(["init", str(tmp_path)]) == 0
        (tmp_path / folder / "ppduck.sql").unlink()


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, macros = tmp_path / "dbt_project.yml", tmp_path / "macros" / "ppduck.sql"
    project.write_bytes(b"name: caf\xe9")
    assert main(["init", str(tmp_path)]) == 1
    assert 'dbt_project.yml" is not written in UTF-8, which dbt reads.' in capsys.readouterr().err
    project.write_text("name: mine", encoding="utf-8")
    macros.parent.mkdir()
    macros.write_bytes(b"{# caf\xe9 #}")
    assert main(["init", str(tmp_path)]) == 1
    assert "is not ppduck's; move it" in capsys.readouterr().err
    macros.unlink()
    macros.mkdir()
    assert main(["init", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_a_file_that_must_not_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: mine", encoding="utf-8")

    def refused(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    assert main(["init", str(tmp_path)]) == 1
    assert 'dbt_project.yml": Permission denied' in capsys.readouterr().err


def test_rules_before_init(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "manifest.json"
    node = {"name": "m", "resource_type": "model", "meta": {"ppduck": {"mask": "egadp", "conf": "x"}}}
    for macros, warning in [
        ({"macro.mine.other": {"name": "other"}}, "Warning: the project has no macro ppduck_mask, so that nothing is masked; run ppduck dbt init."),
        ({"macro.mine.ppduck_mask": {"name": "ppduck_mask"}}, 'Warning: model "m" has a masking rule and does not call ppduck_mask'),
    ]:  # fmt: skip
        manifest.write_text(json.dumps({"nodes": {"m": node}, "sources": {}, "macros": macros}), encoding="utf-8")
        assert main(["rules", "--manifest", str(manifest)]) == 0
        [said] = capsys.readouterr().err.splitlines()
        assert said.startswith(warning)
