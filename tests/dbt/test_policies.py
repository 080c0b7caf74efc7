"""A policy out of metas: what they say together, and how it is refused, all in one message that names the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ppduck.dbt.policies import Release, read_release, says_policy
from ppduck.errors import PpduckError
from ppduck.policy import document, reading
from ppduck.policy.model import Treatment

WHOLE: dict[str, Any] = {"key": "id", "columns": {"name": "drop"}, "masks": {"egadp": {"nonconf": ["sex"]}}}
COLUMNS: dict[str, Any] = {"id": {"pseudonym": "token"}, "income": {"mask": "egadp"}, "sex": "keep"}


def of(whole: Any, columns: dict[str, Any], folder: Path = Path(), incremental: bool = False) -> Release:
    return read_release("m", whole, columns, folder=folder, incremental=incremental)


def fault(whole: Any, columns: dict[str, Any], folder: Path = Path(), incremental: bool = False) -> str:
    with pytest.raises(PpduckError, match=r'^ppduck policy of model "m": ') as raised:
        of(whole, columns, folder, incremental)
    return str(raised.value)


def test_metas_are_the_policy_that_a_file_would_be(tmp_path: Path) -> None:
    one = of(WHOLE, COLUMNS)
    together = WHOLE | {"columns": {**COLUMNS, "name": "drop"}}
    assert one.policy.digest == reading.read("release_table", "t", document.of_python(together)).digest
    assert document.of_yaml(one.text).plain == together
    (tmp_path / "t.release.yml").write_text("# ours\n" + document.as_yaml(together), encoding="utf-8")
    filed = of({"policy": "t.release.yml"}, {}, tmp_path)
    assert filed.policy.digest == one.policy.digest
    assert filed.text.startswith("# ours\n")
    assert one.policy.treated(Treatment.DROP) == ["name"]
    assert one.told == "name: drop; id: pseudonym token; income: mask egadp, nonconf [sex]; sex: keep; key: id"


def test_every_fault_is_told_at_once() -> None:
    columns = COLUMNS | {"sex": {"randomise": 0.9}, "income": {"mask": "egad"}, "NAME": "keep", "age": "conf"}
    told = fault(WHOLE | {"from": "t", "limit": {}}, columns)
    for each in (
        "from: which table is released stands in the model's call of ppduck_release_table.",
        'columns.NAME: column "NAME" has a meta of its own, and stands under columns in the model\'s',
        "limit: a policy has no 'limit'. Did you mean \"limits\"?",
        'columns.sex: column "sex" does not say what becomes of it',
        'Did you mean "randomize"?',
        "columns.income: there is no mask 'egad'. Did you mean \"egadp\"?",
        "columns.age: column \"age\": 'conf' is none of what becomes of a column.",
    ):
        assert each in told
    assert told.count("\n  also: ") >= 5


@pytest.mark.parametrize(
    ("whole", "columns", "message"),
    [
        (["key"], {}, "meta.ppduck of the model takes a mapping such as {key: customer_id}"),
        ({"key": "id"}, {}, "no column says what becomes of it; give each column of the table a meta"),
        ({"columns": ["name"]}, {"id": "drop"}, "columns takes a mapping such as {full_name: drop}, got ['name']."),
        ({"mask": "egadp", "key": "id"}, COLUMNS, "a policy has no 'mask'. Did you mean \"masks\"?"),
        ({}, COLUMNS, 'key is missing: noise and draws of "income" go by'),
    ],
)
def test_what_is_no_policy(whole: Any, columns: dict[str, Any], message: str) -> None:
    assert message in fault(whole, columns)


def test_files_that_are_no_policy(tmp_path: Path) -> None:
    (tmp_path / "wrong.yml").write_text("columns: {id: drop, id: keep}", encoding="utf-8")
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\xff")
    told = fault({"policy": "none.yml", "key": "id"}, {"x": "drop"}, tmp_path)
    assert "\"key\" cannot stand beside policy; write it into 'none.yml'." in told
    assert "also: 'none.yml' says what becomes of every column; take out the metas of \"x\"." in told
    assert "also: cannot read the policy 'none.yml': No such file or directory." in told
    assert "columns.id is there twice, at line 1, column 11 and at line 1, column 21." in fault(
        {"policy": "wrong.yml"}, {}, tmp_path
    )
    assert "cannot read the policy 'bytes.yml': it is no UTF-8 text." in fault({"policy": "bytes.yml"}, {}, tmp_path)
    assert "policy takes the name of a YAML file, got 7." in fault({"policy": 7}, {}, tmp_path)


def test_columns_of_the_source() -> None:
    with pytest.raises(PpduckError, match="also: of the table columns") as raised:
        of(WHOLE, COLUMNS).check_columns("people", ["id", "Income", "names", "sex", "passport"])
    told = str(raised.value)
    assert told.startswith('ppduck policy of model "m", released from "people": columns.name: the table has no')
    assert 'Did you mean "names"?' in told
    assert 'of the table columns "names", "passport" are not named' in told
    of(WHOLE, COLUMNS).check_columns("people", ["ID", "name", "income", "sex"])


def test_an_incremental_model_needs_batches_that_it_can_find() -> None:
    assert "the model is incremental, and would release every row anew" in fault(WHOLE, COLUMNS, incremental=True)
    daily = WHOLE | {"batch": "day"}
    assert 'needs column "day" as it is; say keep of it.' in fault(daily, COLUMNS | {"day": "drop"}, incremental=True)
    assert of(daily, COLUMNS | {"day": "keep"}, incremental=True).incremental


@pytest.mark.parametrize(
    ("whole", "columns", "meant"),
    [
        (None, {"x": "keep", "y": "drop"}, False),
        (None, {"x": {"role": "conf", "p": 0.8}}, False),
        ({"mask": "rr"}, {"x": {"randomize": 0.8}}, False),
        (None, {"x": {"randomize": 0.8}}, True),
        ({"policy": "t.yml"}, {}, True),
        ({"key": "id", "keep": ["x"]}, {}, False),
        ({"columns": {"x": "keep"}}, {}, True),
    ],
)
def test_which_metas_can_only_be_a_policy(whole: Any, columns: dict[str, Any], meant: bool) -> None:
    assert says_policy(whole, columns) is meant
