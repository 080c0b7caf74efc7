"""What the plain macros that mask share: how a call is explained, and which secret and key they ask for."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.masks import egadp_plain, noise_plain, pseudonym_plain, rr_plain

pytestmark = pytest.mark.core

MACROS = [egadp_plain.MACRO, noise_plain.MACRO, pseudonym_plain.MACRO, rr_plain.MACRO]
LEVELS = ["east", "north", "south", "west"]
CALLS = {
    "rr_plain": f"'customers', conf=['region'], p=0.8, levels={LEVELS}, key='id'",
    "noise_plain": "'customers', conf=['X1', 'x2'], level=[0.1, 2], key='id'",
    "pseudonym_plain": "'customers', columns=['name'], domain='customer'",
}
TOLD = {
    "rr_plain": {"region": ("randomized", "kept with probability 0.8, else one of its other 3 levels; NULL stays NULL")},
    "noise_plain": {
        "x1": ("confidential", "noise of 0.1 times its variance is added, as DOUBLE; NULL stays NULL"),
        "x2": ("confidential", "noise of 2 times its variance is added, as DOUBLE; NULL stays NULL"),
    },
    "pseudonym_plain": {
        "name": ("pseudonym", "replaced by tokens of 32 digits, as VARCHAR, the same for the same value; NULL stays NULL")
    },
}  # fmt: skip


@pytest.mark.parametrize("mask", CALLS)
def test_a_call_is_explained_column_by_column_without_its_secret(
    customers: duckdb.DuckDBPyConnection, mask: str
) -> None:
    rows = customers.execute(f"FROM mask_explain('{mask}', {CALLS[mask]})").fetchall()
    columns = [row[0] for row in customers.execute("DESCRIBE customers").fetchall()]
    assert [name for name, *_ in rows[: len(columns)]] == columns
    for name, role, note in rows[: len(columns)]:
        assert (role, note) == TOLD[mask].get(
            name, ("not used", "released as it is: drop it if it tells who somebody is")
        )
    [macro] = [each for each in MACROS if each.name == mask]
    assert [note for _, role, note in rows if role == "guaranteed"] == [str(each) for each in macro.keeps]
    assert [note for _, role, note in rows if role == "not guaranteed"] == [str(each) for each in macro.loses]
    assert ("id" in [name for name, role, _ in rows[len(columns) :]]) == (mask != "pseudonym_plain")


@pytest.mark.parametrize(
    ("mask", "call", "told"),
    [
        ("rr_plain", "conf=['absent'], p=0.8, levels=['a', 'b'], key='id'", 'conf names column "absent", which does not exist'),
        ("rr_plain", "conf=['region'], p=[0.8, 0.9], levels=['a', 'b'], key='id'", "p is given for 2 columns, and conf names 1"),
        ("rr_plain", "conf=['region'], p=0.8, levels=[['a', 'b'], ['c', 'd']], key='id'", "levels is given for 2 columns"),
        ("rr_plain", "conf=['region'], p=1, levels=['a', 'b'], key='id'", "p of rr_plain must be above 0 and below 1"),
        ("rr_plain", "conf=['region'], p=0.8, levels=['a'], key='id'", "levels of rr_plain takes a list of all levels"),
        ("rr_plain", "conf=['region'], p=0.8, levels=['a', 'b'], key='no'", 'key names column "no"'),
        ("noise_plain", "conf=['x1'], level=0, key='id'", "level of noise_plain must be from"),
        ("noise_plain", "conf=['x1'], level=[1, 2], key='id'", "level is given for 2 columns, and conf names 1"),
        ("pseudonym_plain", "columns=['nam'], domain='d'", 'columns names column "nam", .* Did you mean "name"'),
    ],
)  # fmt: skip
def test_what_cannot_be_explained_is_refused(
    customers: duckdb.DuckDBPyConnection, mask: str, call: str, told: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=told):
        customers.execute(f"FROM mask_explain('{mask}', 'customers', {call})").fetchall()


def test_all_ask_for_the_same_secret_and_those_with_noise_for_a_key() -> None:
    for macro in MACROS:
        given = {parameter.name: parameter for parameter in macro.parameters}
        assert given["secret"] == next(p for p in egadp_plain.MACRO.parameters if p.name == "secret")
        assert ("key" in given) == (macro.name != "pseudonym_plain")
