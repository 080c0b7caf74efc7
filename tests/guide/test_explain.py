"""mask_explain tells what a call would do with every column, and refuses what the call would refuse."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.call.guarantees import Promise
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import functions, masks
from ppduck.masks import nm_egadp
from tests.registry_calls import masks_of_numbers, more, takes, usual_call

pytestmark = pytest.mark.core


def explained(con: duckdb.DuckDBPyConnection, arguments: str) -> list[tuple[str | None, str, str]]:
    relation = con.sql(f"FROM mask_explain({arguments})")
    assert relation.columns == ["column_name", "role", "note"]
    return relation.fetchall()


def test_every_column_has_a_role(customers: duckdb.DuckDBPyConnection) -> None:
    rows = explained(customers, "'egadp_mask', 'customers', conf=['x1'], drop=['s2'], strata=['member']")
    roles = {column: role for column, role, _ in rows if column}
    assert roles == {
        "id": "nonconfidential", "s1": "nonconfidential", "s2": "dropped", "member": "group",
        "region": "nonconfidential", "name": "not used", "x1": "confidential", "x2": "nonconfidential", "rowid": "key",
    }  # fmt: skip
    notes = {column: note for column, _, note in rows if column}
    assert notes["region"] == "used as 3 indicators against its level 'east'"
    assert "drop it if it tells who somebody is" in notes["name"]


def test_uniqueness_of_the_key_is_counted(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE VIEW pairs AS SELECT s1, s2, x1, x2, id // 2 AS pair FROM customers")
    cases = {
        "'customers', conf=['x1']": ("rowid", "1000 values in 1000 rows: unique"),
        "'customers', conf=['x1'], key='id'": ("id", "named as key; 1000 values in 1000 rows: unique"),
        "'pairs', conf=['x1'], key='pair'": ("pair", "500 values in 1000 rows: NOT unique; rows that agree in it"),
        "'pairs', conf=['x1']": ("all used columns", "1000 values in 1000 rows: unique"),
    }
    for arguments, (column, note) in cases.items():
        [(found, said)] = [(c, n) for c, role, n in explained(customers, f"'egadp_mask', {arguments}") if role == "key"]
        assert found == column
        assert note in said


@pytest.mark.parametrize("mask", masks_of_numbers(), ids=lambda mask: mask.name)
def test_promises_are_told_for_every_mask(customers: duckdb.DuckDBPyConnection, mask: NumericMask) -> None:
    rounds = takes(mask, "round")
    own = more(mask) + (", round=true" if rounds else "")
    rows = explained(customers, f"'{mask.name}', 'customers', conf=['x1']{own}, seed=1")
    guaranteed = [note for _, role, note in rows if role == "guaranteed"]
    lost = [note for _, role, note in rows if role == "not guaranteed"]
    call = usual_call(mask)
    assert guaranteed == [str(each) for each in mask.kept(call)]
    assert lost[: len(mask.lost(call))] == [str(each) for each in mask.lost(call)]
    assert any("seeded noise" in note for note in lost)
    assert any("rounding" in note for note in lost) == rounds


@pytest.mark.parametrize("variant", [1, 4])
def test_what_other_calls_promise_is_not_told(customers: duckdb.DuckDBPyConnection, variant: int) -> None:
    rows = explained(customers, f"'nm_egadp_mask', 'customers', conf=['x1'], nonconf=['s1'], variant={variant}")
    told = {note for _, role, note in rows if role == "guaranteed"}
    assert {each.promise: str(each) in told for each in nm_egadp.MASK.keeps} == {
        Promise.CURVES: True,
        Promise.MOMENTS: variant == 1,
        Promise.VALUES: variant == 4,
        Promise.NO_GAIN: variant == 1,
    }


@pytest.mark.parametrize(
    ("x", "suspected"),
    [
        ("abs(s) + e / 3", []),
        ("abs(s) + s * s * e", ["constant variance"]),
        ("if(hash(i + 5) % 2 = 0, 1, -1) * sqrt(1 - s * s) + e / 20", ["constant variance", "single-valued mapping"]),
    ],
)
def test_the_assumptions_of_nm_egadp_are_tested(con: duckdb.DuckDBPyConnection, x: str, suspected: list[str]) -> None:
    con.execute(f"""
        CREATE TABLE t AS SELECT s, {x} AS x FROM (
            SELECT i, 2 * ((hash(i) % 100000) / 100000) - 1 AS s,
                   sqrt(-2 * ln((1 + hash(i + 1000000) % 100000) / 100001)) * cos(6.28318 * (hash(i + 2000000) % 100000) / 100000) AS e
            FROM range(1000) AS r(i))""")
    rows = explained(con, "'nm_egadp_mask', 't', conf=['x']")
    [model] = [note for column, role, note in rows if (column, role) == ("x", "model")]
    assert model.startswith("LS-SVM on 1000 rows: R² 0.")
    checks = [note for column, role, note in rows if (column, role) == ("x", "assumption")]
    assert [note.partition(":")[0] for note in checks] == ["constant variance", "single-valued mapping"]
    assert [note.partition(":")[0] for note in checks if "violation suspected" in note] == suspected


def test_patterns_among_residuals_are_told_for_pairs_and_groups(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS part, sin(i * 7) AS s, cos(i * 3) AS x, cos(i * 3) ** 2 + sin(i * 11) / 5 AS y FROM range(600) r(i)"
    )
    rows = explained(con, "'nm_egadp_mask', 't', conf=['x', 'y'], nonconf=['s'], strata=['part']")
    pairs = sorted(note for column, role, note in rows if (column, role) == ("x, y", "assumption"))
    assert [note[: len("in the group part = 0: simple patterns")] for note in pairs] == [
        "in the group part = 0: simple patterns",
        "in the group part = 1: simple patterns",
    ]
    assert all("violation suspected" in note for note in pairs)


def test_shuffled_columns_are_said_to_be_shuffled(customers: duckdb.DuckDBPyConnection) -> None:
    for call in ("'shuffle_mask', 'customers', conf=['x1']", "'nm_egadp_mask', 'customers', conf=['x1'], variant=4"):
        [note] = [note for column, role, note in explained(customers, call) if role == "confidential"]
        assert note == "replaced by a value of the column, by chance its own, in its own type; NULL stays NULL"


def test_randomizing_masks(customers: duckdb.DuckDBPyConnection) -> None:
    design = "p={'region': 0.8, 'member': 0.9}, drop=['name']"
    rows = explained(customers, f"'rr_mask', 'customers', {design}, key='id'")
    roles = {column: role for column, role, _ in rows if column}
    assert roles == {
        "id": "key", "s1": "not used", "s2": "not used", "member": "randomized", "region": "randomized",
        "name": "dropped", "x1": "not used", "x2": "not used",
    }  # fmt: skip
    notes = {column: note for column, role, note in rows if role == "randomized"}
    assert notes == {
        "region": "kept with probability 0.8, else one of its 3 other levels; epsilon 2.48",
        "member": "kept with probability 0.9, else its other level; epsilon 2.2",
    }
    assert any("epsilon 4.68" in note for _, role, note in rows if role == "guaranteed")
    lost = [note for _, role, note in rows if role == "not guaranteed"]
    assert any("which levels occur" in note for note in lost)
    assert not any("seeded" in note or "name a key" in note for note in lost)
    invariant = explained(customers, "'pram_mask', '(FROM customers)', conf=['region'], p=0.8, invariant=true, seed=1")
    assert any("published by its 4×4 matrix, kept with" in note for _, _, note in invariant)
    assert any("expected share of every level" in note for _, role, note in invariant if role == "guaranteed")
    assert any("seeded draws" in note for _, role, note in invariant if role == "not guaranteed")
    [(key, said)] = [(column, note) for column, role, note in invariant if role == "key"]
    assert key == "the whole row, and which of equal rows it is"
    for call, verdict in {
        "'(SELECT member FROM customers)', p={'member': 0.9}": "2 values in 1000 rows: NOT unique; equal rows are numbered",
        "'customers', p={'member': 0.9}, key='region'": "4 values in 1000 rows: NOT unique; rr_mask and pram_mask refuse it",
    }.items():
        [note] = [note for _, role, note in explained(customers, f"'rr_mask', {call}") if role == "key"]
        assert note.endswith(verdict)
    assert "1000 values in 1000 rows: unique" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'egadp', 'customers', conf=['x1']", r"there is no mask 'egadp'. Did you mean \"egadp_mask\"\?"),
        ("'egadp_mask', 'customers', conf=['x9']", r'egadp_mask on "customers": conf names column "x9"'),
        (
            "'noise_mask', 'customers', conf=['x1'], level=0",
            "with less the confidential values would pass through, got 0",
        ),
        ("'sufficiency_mask', 'customers', conf=['x1']", "give either alpha"),
        ("'noise_mask', 'customers', conf=['x1']", "parameter 'level' of noise_mask is missing"),
        ("'rr_mask', 'customers', p={'region': 2}", "p of rr_mask must be from 0.000000001 to 0.999999999, or 1"),
        ("'rr_mask', 'customers', p={'regio': 0.9}", r'rr_mask on "customers": p or matrix names column "regio"'),
        (
            "'rr_mask', 'customers', p={'region': 0.9}, on_null='mean'",
            "on_null of rr_mask takes one of 'keep', 'level'",
        ),
        ("'egadp_mask', 'customers', conf=['x1'], alpha=0.5", "egadp_mask has no parameter 'alpha'"),
    ],
)
def test_refusals(customers: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        customers.execute(f"FROM mask_explain({arguments})")


def test_a_generalised_release_is_explained(customers: duckdb.DuckDBPyConnection) -> None:
    rows = explained(
        customers, "'generalize_mask', 'customers', qi=['s1','region'], k=5, sensitive='member', l=2, drop=['name']"
    )
    roles = {column: role for column, role, _ in rows if column}
    assert roles == {
        "id": "not used", "s1": "quasi-identifier", "s2": "not used", "member": "sensitive",
        "region": "quasi-identifier", "name": "dropped", "x1": "not used", "x2": "not used",
    }  # fmt: skip
    notes = {column: note for column, _, note in rows if column}
    assert notes["s1"] == "replaced by a range or a set of values, as text, that 5 rows share"
    assert notes["member"].startswith("released as it is; 2-diverse by frequency")
    assert notes["id"] == "released as it is: drop it if it tells who somebody is"
    told = {(role, note) for column, role, note in rows if column is None}
    assert ("guaranteed", "with l, rows that share them are l-diverse in the sensitive column") in told
    assert ("not guaranteed", "protection by columns outside qi, which are released as they are") in told
    with pytest.raises(duckdb.InvalidInputException, match="l needs the column that is to be diverse"):
        explained(customers, "'generalize_mask', 'customers', qi=['s1'], k=5, l=2")


def test_an_anatomized_release_is_explained(customers: duckdb.DuckDBPyConnection) -> None:
    rows = explained(
        customers, "'anatomy_mask', 'customers', qi=['s1'], sensitive='region', l=2, keep=['name'], key='id', seed=1"
    )
    roles = {column: role for column, role, _ in rows if column}
    assert {roles[each] for each in ("id", "s2", "member", "x1", "x2")} == {"not used"}
    assert (roles["s1"], roles["region"], roles["name"]) == ("quasi-identifier", "sensitive", "kept")
    notes = {column: note for column, _, note in rows if column}
    assert notes["id"] == "left out of both parts; names the row for its chance"
    assert notes["region"] == "released in part 'st' only, as a value of a group of at least 2 rows"
    lost = [note for _, role, note in rows if role == "not guaranteed"]
    assert "secrecy of who is in the table" in lost
    assert any("seeded chance" in note for note in lost)
    with pytest.raises(duckdb.InvalidInputException, match="parameter 'qi' of anatomy_mask is missing"):
        explained(customers, "'anatomy_mask', 'customers', sensitive='region', l=2")


def test_the_plain_mask_is_explained_without_a_secret(customers: duckdb.DuckDBPyConnection) -> None:
    rows = explained(customers, "'egadp_plain', 'customers', conf=['x1'], nonconf=['s1'], key='id'")
    by_column = {column: (role, note) for column, role, note in rows if column and role != "key"}
    assert by_column["x1"] == ("confidential", "replaced by its masked value, as DOUBLE")
    assert by_column["s1"][0] == "nonconfidential"
    assert by_column["s2"][0] == "not used"
    assert ("id", "key", "noise key: named as key; 1000 values in 1000 rows: unique") in rows
    assert any(role == "guaranteed" and "NULL in conf or nonconf is refused" in note for _, role, note in rows)


def test_every_mask_can_be_explained() -> None:
    assert [mask.name for mask in masks().values() if mask.explain is None] == []
    assert {function.name for function in functions() if function.explain is not None} == set(masks())
