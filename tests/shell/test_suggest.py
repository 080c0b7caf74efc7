"""ppduck suggest: a page that ppduck release reads, of a database that is only read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppduck import shell
from ppduck.policy.document import of_yaml

pytestmark = pytest.mark.core


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "my.db"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE customers AS SELECT i AS id, 'SENTINEL' || i || '@example.org' AS mail, sin(i) + 9 AS income, "
            '\'c\' || i % 3 AS "a: b", i // 9 AS "the no" FROM range(900) r(i)'
        )
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = shell.main(["suggest", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_page(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    before = database.read_bytes()
    code, page, err = run(capsys, database, "customers")
    assert (code, err) == (0, "")
    assert page.splitlines()[0].startswith("# A proposal")
    assert of_yaml(page).plain == {
        "from": "customers",
        "key": "id",
        "columns": {
            "id": {"pseudonym": "token"},
            "mail": {"pseudonym": "email"},
            "income": {"mask": "egadp"},
            "a: b": "keep",
            "the no": {"pseudonym": "token"},
        },
        "masks": {"egadp": {"nonconf": ["a: b"]}},
        "limits": {"linkage": 0.05, "k": 5},
    }
    lines = page[page.index("columns:") : page.index("masks:")].splitlines()[1:]
    assert len(lines) == 5
    assert len({line.index("  # ") for line in lines}) == 1, "reasons stand below each other"
    assert "SENTINEL" not in page
    assert database.read_bytes() == before


def test_ppduck_release_reads_it(capsys: pytest.CaptureFixture[str], database: Path, tmp_path: Path) -> None:
    policy = tmp_path / "customers.release.yml"
    policy.write_text(run(capsys, database, "customers")[1], encoding="utf-8")
    assert shell.main(["release", str(policy), str(database), "--explain"]) == 0
    assert "egadp_mask: mask egadp" in capsys.readouterr().out


def test_a_key_of_several_columns(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    _, page, _ = run(capsys, database, "customers", "--key", "the no", "--key", "a: b")
    assert of_yaml(page).plain["key"] == ["the no", "a: b"]


@pytest.mark.parametrize(
    ("file", "table", "said"),
    [
        ("my.bd", "customers", 'Error: ppduck suggest: there is no database {}. Did you mean "my.db"?'),
        (
            "my.db",
            "custmers",
            'Error: suggest_policy on "custmers": the planner cannot see "custmers". Did you mean "customers"?',
        ),
        ("no.txt", "customers", "Error: ppduck suggest: cannot open"),
    ],
)
def test_what_is_not_there(
    capsys: pytest.CaptureFixture[str], database: Path, file: str, table: str, said: str
) -> None:
    path = database.with_name(file)
    if file == "no.txt":
        path.write_text("SENTINEL is no database\n" * 999)
    code, page, err = run(capsys, path, table)
    assert (code, page) == (1, "")
    assert err.startswith(said.format(repr(str(path))))
    assert "LINE 1" not in err
    assert "SENTINEL" not in err
