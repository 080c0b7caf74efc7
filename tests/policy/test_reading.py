"""A policy is read whole: every fault at once, each with its place and the near miss; what says the same is the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.errors import PpduckError
from ppduck.policy.document import of_python, of_yaml
from ppduck.policy.model import Policy, Treatment
from ppduck.policy.reading import read

YAML = """
from: customers
key: customer_id
columns:
  customer_id: {pseudonym: token}
  full_name: drop
  email: {pseudonym: email}
  birth_date: {date: shift, per: customer_id, within: 30 days}
  zip: {recode: {keep: 3}}
  gender: {randomize: 0.9}
  income: {mask: egadp}
  debt: {mask: egadp}
  n_orders: {mask: shuffle}
  churned: keep
masks:
  egadp: {nonconf: [age_band, gender], round: true}
  shuffle: {nonconf: gender}
limits: {linkage: 0.05, k: 5}
"""


def of(text: str) -> Policy:
    return read("release_table", "customers", of_yaml(text))


def fault(text: str) -> str:
    with pytest.raises(PpduckError, match=r"^release_table on \"customers\": ") as raised:
        of(text)
    return str(raised.value)


def test_the_policy_of_the_readme() -> None:
    policy = of(YAML)
    assert policy.source == "customers"
    assert policy.key == ("customer_id",)
    assert policy.columns["zip"] is Treatment.RECODE
    assert policy.columns["churned"] is Treatment.KEEP
    assert policy.used == ["age_band"]
    assert policy.limits == {"linkage": 0.05, "k": 5}
    steps = {step.function: step for step in policy.steps}
    assert steps["egadp_mask"].arguments["conf"] == ["debt", "income"]
    assert steps["egadp_mask"].arguments["round"] is True
    assert steps["shuffle_mask"].arguments["nonconf"] == ["gender"]
    assert steps["rr_mask"].arguments["p"] == {"gender": 0.9}
    assert steps["date_mask"].columns == ("birth_date",)
    assert steps["pseudonym_mask"].columns == ("customer_id", "email")


def test_two_policies_that_say_the_same_have_one_digest() -> None:
    other = of_yaml(YAML).plain
    other["columns"] = dict(reversed(other["columns"].items()))
    other["columns"]["income"] = other["columns"]["debt"] = {"mask": "money"}
    other["columns"]["birth_date"] = {"within": 30, "per": ["customer_id"], "date": "shift"}
    other["columns"]["gender"] = {"randomize": {"p": 0.9}}
    other["columns"]["customer_id"] = {"pseudonym": {"as": "token"}}
    other["masks"]["money"] = {"mask": "egadp_mask", "nonconf": ["gender", "AGE_BAND"], "round": True}
    del other["masks"]["egadp"]
    other["columns"] = {name.upper(): own for name, own in other["columns"].items()}
    assert read("release_table", None, of_python(other)).digest == of(YAML).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.9}", "0.8}"),
        ("within: 30 days", "within: 31 days"),
        ("churned: keep", "churned: drop"),
        ("keep: 3", "keep: 2"),
        ("nonconf: gender", "nonconf: age_band"),
        ("k: 5", "k: 4"),
        ("round: true", "round: false"),
        ("pseudonym: email", "pseudonym: token"),
        ("key: customer_id", "key: [customer_id, churned]"),
        ("{pseudonym: token}", "{pseudonym: token, domain: other}"),
    ],
)
def test_what_says_something_else_has_another_digest(before: str, after: str) -> None:
    assert before in YAML
    assert of(YAML.replace(before, after)).digest != of(YAML).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{pseudonym: token}", "{pseudonym: token, domain: ppduck}"),
        ("{pseudonym: email}", "{pseudonym: {as: email, domain: reserved}}"),
        ("within: 30 days", "within: 30, unit: day"),
        ("keep: 3", "keep: 3, rare_below: null"),
        ("0.9}", "{p: 0.9, on_null: keep, invariant: false}}"),
        ("from: customers", "from: customers\ndomain: ppduck"),
    ],
)
def test_what_is_said_though_it_holds_anyway_is_the_same(before: str, after: str) -> None:
    assert before in YAML
    assert of(YAML.replace(before, after)).digest == of(YAML).digest


def test_a_rare_level_is_called_other_unless_said() -> None:
    merged = YAML.replace("{keep: 3}", "{rare_below: 5}")
    assert of(merged).digest == of(merged.replace("below: 5", "below: 5, as: other")).digest
    assert of(merged).digest != of(merged.replace("below: 5", "below: 5, as: few")).digest


def test_the_table_and_the_text_are_judged_in_one_message() -> None:
    own = ["customer_id", "full_name", "email", "phone", "income", "age_band"]
    text = (
        "key: customer_id\ncolumns:\n  customer_id: {pseudonym: tokn}\n  full_name: dorp\n  email: {recode: {kep: 3}}\n"
        "  email: keep\n  incme: {mask: egadp}\n  born: {date: shft, per: customer, within: 3}\n"
        "masks: {egadp: {nonconf: [age_bnd]}}\nlimits: {linkge: 0.05, k: few}\nqi: [town]\n"
    )
    with pytest.raises(PpduckError, match=r"^release_table on \"customers\": ") as raised:
        read("release_table", "customers", of_yaml(text), own)
    said = str(raised.value).split("\n  also: ")
    for part in (
        "columns.email is there twice, at line 5, column 3 and at line 6, column 3.",
        "columns.customer_id.pseudonym (line 3, column 17): columns gives the form 'tokn', which there is not",
        "columns.full_name (line 4, column 3): column \"full_name\": 'dorp' is none of what becomes of a column.",
        'columns.email.recode (line 5, column 11): column "email": there is no option \'kep\'. Did you mean "keep"?',
        "columns.born (line 8, column 3): columns of date_mask of column \"born\" must be 'shift'",
        'limits.linkge (line 10, column 10): limits names rule "linkge", which does not exist. Did you mean "linkage"?',
        'limits.k (line 10, column 24): the limit of rule "k" takes a number',
        'columns.incme (line 7, column 3): the table has no column "incme". Did you mean "income"?',
        'columns.born (line 8, column 3): the table has no column "born".',
        'per of columns.born (line 8, column 3) names column "customer", which the table does not have. Did you mean',
        'nonconf of masks.egadp (line 9, column 9) names column "age_bnd", which the table does not have. Did you mean',
        'qi names column "town", which the table does not have.',
        'of the table columns "phone", "income", "age_band" are not named',
    ):
        assert any(part in each for each in said), (part, said)
    assert len(said) <= 14


def test_a_column_that_only_qi_names_is_still_to_be_decided() -> None:
    with pytest.raises(PpduckError, match='of the table column "town" is not named'):
        read("release_table", "t", of_yaml("columns: {a: drop}\nqi: [town]"), ["a", "town"])


def test_all_faults_arrive_in_one_message_with_place_and_near_miss() -> None:
    said = fault(
        "key: id\ncolum: {}\ncolumns:\n  id: kep\n  a: {randomise: 0.8}\n  b: {mask: egadpp}\n  c: {mask: shuffle}\n"
        "  d: {date: year, per: id}\n  e: {randomize: 1.5}\n  f: {pseudonym: token, at: x}\n  g: 7\n"
        "masks: {shuffle: {nonkonf: [a]}, ipso: {}}\n"
    )
    for part in (
        "colum (line 2, column 1): a policy has no 'colum'. Did you mean \"columns\"?",
        'columns.id (line 4, column 3): column "id": \'kep\' is none of what becomes of a column. Did you mean "keep"?',
        'columns.a (line 5, column 3): column "a" does not say what becomes of it',
        'Did you mean "randomize"?',
        "columns.b (line 6, column 3): there is no mask 'egadpp'. Did you mean \"egadp\"?",
        "shuffle_mask has no parameter 'nonkonf'. Did you mean \"nonconf\"?",
        'columns.d (line 8, column 3): column "d": "per" are of shifted dates only.',
        "p of rr_mask",
        "columns.f.at (line 10, column 25): column \"f\": beside pseudonym there is no 'at'.",
        'columns.g (line 11, column 3): column "g" needs keep, drop or a mapping, got 7.',
        "masks names 'ipso', which no column is masked by.",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns: {}", "columns is missing"),
        ("[a, b]", "a policy is a mapping of names to values, got a list"),
        ("columns: {a: drop, A: keep}", 'column "A" is there twice, as "a" too'),
        ("columns: {a: {randomize: 0.8}}", 'key is missing: noise and draws of "a"'),
        ("{key: id, columns: {id: drop, a: {mask: egadp}}, masks: {egadp: {seed: 1}}}", '"seed" cannot stand here'),
        ("{key: 7, columns: {a: drop}}", "key takes a column name or a list of them, got 7"),
        ("{limits: [a], columns: {a: drop}}", "limits takes rules and their limits"),
        ("{limits: {linkage: [1]}, columns: {a: drop}}", 'the limit of rule "linkage" takes'),
        ("{smallest_batch: 0, columns: {a: drop}}", "smallest_batch takes a whole number of at least 1"),
        ("{from: [a], columns: {a: drop}}", "from takes a text, got a list"),
        ("columns: {a: {pseudonym: null}}", "pseudonym does not say how"),
        ("{key: id, columns: {id: drop, a: {mask: noise}}}", "columns.a (line 1, column 31): noise_mask needs level: "),
        ("columns: {a: {pseudonym: token, recode: {keep: 2}}}", "says several things"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in fault(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda own: st.lists(own) | st.dictionaries(st.text(), own),
        max_leaves=20,
    )
)
def test_nothing_but_a_policy_or_a_clear_refusal(value: Any) -> None:
    said, found = "", None
    try:
        found = read("release_table", "t", of_python(value))
    except PpduckError as error:
        said = str(error)
    assert found.columns if found is not None else said.startswith('release_table on "t": ')
