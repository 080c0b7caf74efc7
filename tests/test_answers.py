"""One shape of answers: what a function tells has the same name, the same unit and the same place in every other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call.direction import DIRECTIONS
from ppduck.call.registry import Kind, functions, masks
from ppduck.errors import PpduckWarning
from ppduck.guide.demo import DEMO
from ppduck.shell.results import rendered
from ppduck.shell.statements import parsed
from tests.conftest import SECRET

pytestmark = pytest.mark.core

# A mask gives the table's own columns; these, what a query asks for.
FREE = {*masks(), "rr_query"}
TOLD = {function.name: function.example for function in functions() if function.name not in FREE}
# Facts that are no verdicts: they have no limit that could be passed.
FACTS = {
    "independence_test": {"valid"},
    "loglinear_fit": {"preserved"},
    "loglinear_models": {"preserved", "best"},
    "rr_classifier_check": {"chosen", "chosen_before", "preserved"},
    "attribute_disclosure": {"smoker"},  # a column of the table
}
# Arguments by which a function tells more, or otherwise.
OTHERWISE = {
    "FROM security_index('customers', conf=['x1'], nonconf=['s1','s2'], strata=['region'])",
    "FROM relationships('customers', conf=['x1'], nonconf=['s1','s2'], strata=['region'])",
    "FROM recommend_mask('customers', conf=['x1'], nonconf=['s1','s2'], strata=['region'])",
    "FROM canonical_security('customers', 'released', conf=['x1'], nonconf=['s1','s2'], key='id', pieces=['s1 < 0'])",
    "FROM mse_security('customers', 'released', conf=['x1'], nonconf=['s1','s2'], key='id', pieces=['s1 < 0'])",
    "FROM value_disclosure('customers', 'released', conf=['x1'], nonconf=['s1','s2'], key='id', pieces=['s1 < 0'])",
    "FROM record_linkage('customers', 'released', conf=['x1','x2'], key='id', detail='columns')",
    "FROM record_linkage('customers', 'released', conf=['x1','x2'], key='id', detail='records')",
    "FROM attribute_disclosure('survey', qi=['gender'], sensitive='disease', p={'gender': 0.9}, per='record')",
    "FROM attribute_disclosure('survey', qi=['gender'], sensitive='disease', p={'gender': 0.9}, per='maximum')",
    "FROM loglinear_fit('survey_rr', ['gender','disease'], 'gender, disease', cells=true)",
    "FROM independence_test('survey', 'gender', 'disease', given=['smoker'])",
    "FROM rr_privacy(p=0.8, levels=3)",
}
# What must be seen of an answer that is wider than a terminal. Of a function that is not here, that is every column.
SEEN = {
    "release_check": ("rule", "column_name", "passed", "value", "at_most"),
    "assert_release": ("rule", "column_name", "passed", "value", "at_most"),
    "canonical_security": ("measure", "passed", "value"),
    "mse_security": ("column_name", "measure", "passed", "mse", "r2"),
    "value_disclosure": ("column_name", "gain", "tolerance"),
    "unchanged_values": ("column_name", "passed", "unchanged", "at_most"),
    "record_linkage": ("method", "linked", "linked_share", "chance_share"),
    "interval_disclosure": ("column_name", "kind", "share", "direction"),
    "averaging_attack": ("column_name", "passed", "gain"),
    "release_attack": ("attack", "method", "success", "says"),
    "information_loss": ("component", "value", "direction"),
    "protection_score": ("measure", "value", "direction"),
    "equivalence_test": ("test", "passed", "estimate"),
    "utility_check": ("item", "passed", "difference"),
    "moments_check": ("statistic", "column_a", "column_b", "difference"),
    "release_intersection": ("attack", "column_name", "success"),
    "security_index": ("column_name", "verdict", "security_index", "direction", "advice"),
    "relationships": ("column_name", "other", "relation", "kernel_r2"),
    "recommend_mask": ("mask", "advice", "statement"),
    "rr_reconstruct": ("gender", "disease", "estimate"),
    "rr_association": ("measure", "estimate", "naive", "why"),
    "rr_rules": ("antecedent", "consequent", "support", "confidence", "verdict"),
    "rr_conclusions": ("measure", "says", "value"),
    "rr_classifier_check": ("task", "item", "preserved", "warning"),
    "independence_test": ("p_value", "valid", "chi2"),
    "loglinear_fit": ("model", "p_value", "preserved"),
    "loglinear_models": ("model", "p_value", "preserved", "best"),
    "attribute_disclosure": ("attribute", "value", "risk"),
    "rr_optimize": ("column_name", "p", "tau"),
    "k_anonymity": ("k", "passed", "highest_risk"),
    "l_diversity": ("passed_distinct", "distinct_l", "passed_entropy"),
    "t_closeness": ("t", "direction"),
}
TEXTS = {"meaning", "why", "note", "definition", "advice", "evidence", "warning", "reference"}
FIGURES = {"value", "share", "linked_share", "excess", "gain", "difference", "estimate", "risk", "mse", "r2", "k", "t"}
FORMER = {
    *("holds", "limit", "column", "window", "masked", "n", "records", "low", "high", "by_lower", "by_upper"),
    *("percent", "minimum_rows", "s_low", "s_high", "c_low", "c_high"),
}


@pytest.fixture(scope="module")
def demo() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute(DEMO)
        yield con


@pytest.fixture(scope="module")
def columns(demo: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Of every function, the names and types of what it tells."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        for name in TOLD:
            described = demo.execute(f"DESCRIBE {TOLD[name]}").fetchall()
            found[name] = {row[0]: row[1] for row in described}
    return found


def test_no_column_is_a_reserved_word(demo: duckdb.DuckDBPyConnection, columns: dict[str, dict[str, str]]) -> None:
    found = demo.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    reserved = {name for (name,) in found}
    assert {"column", "limit", "window"} <= reserved
    assert {name: set(own) & reserved for name, own in columns.items() if set(own) & reserved} == {}
    for statement in OTHERWISE:
        told = {row[0] for row in demo.execute(f"DESCRIBE {statement}").fetchall()}
        assert told & (reserved | FORMER | {"group"}) == set(), statement


def test_every_verdict_is_called_passed(columns: dict[str, dict[str, str]]) -> None:
    for name, own in columns.items():
        verdicts = {column for column, kind in own.items() if kind == "BOOLEAN"} - FACTS.get(name, set())
        assert {verdict for verdict in verdicts if verdict.partition("_")[0] != "passed"} == set(), name
    assert sum("passed" in own for own in columns.values()) >= 8


def test_no_column_has_a_former_name(columns: dict[str, dict[str, str]]) -> None:
    assert {name: set(own) & FORMER for name, own in columns.items() if set(own) & FORMER} == {}


def test_bounds_are_lower_and_upper(columns: dict[str, dict[str, str]]) -> None:
    bounded = 0
    for name, own in columns.items():
        ends = {column.rpartition("_")[2] for column in own}
        assert ("lower" in ends) == ("upper" in ends), name
        assert not ends & {"low", "high"}, name
        bounded += "lower" in ends
    assert bounded >= 4


def test_rows_are_counted_as_rows(columns: dict[str, dict[str, str]]) -> None:
    counted = {name for name, own in columns.items() if "rows" in own}
    assert {"record_linkage", "attribute_disclosure", "independence_test", "loglinear_fit", "k_anonymity"} <= counted


def test_verdict_and_figure_stand_before_long_texts(columns: dict[str, dict[str, str]]) -> None:
    for name, own in columns.items():
        places = {column: place for place, column in enumerate(own)}
        texts = [places[text] for text in TEXTS & set(own)]
        figures = [place for column, place in places.items() if column in FIGURES or column.startswith("passed")]
        assert max(figures, default=-1) < min(texts, default=len(own)), name


@pytest.mark.parametrize(
    "name", [each.name for each in functions() if each.name in TOLD and each.kind is not Kind.HELP]
)
def test_a_terminal_of_120_columns_shows_verdict_and_value(
    demo: duckdb.DuckDBPyConnection, columns: dict[str, dict[str, str]], name: str
) -> None:
    [statement] = parsed(demo, None, TOLD[name], 1)
    printed = "".join(rendered(demo, statement, "table", to_the_end=False, width=120))
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 120
    shown = [cell.strip() for cell in lines[1].split("│")]
    assert [column for column in SEEN.get(name, columns[name]) if column not in shown] == []


def test_a_figure_says_which_way_it_is_good_in_the_same_words(
    demo: duckdb.DuckDBPyConnection, columns: dict[str, dict[str, str]]
) -> None:
    directed = {name for name, own in columns.items() if "direction" in own}
    assert len(directed) > 5
    for name in directed:
        found = demo.execute(f"SELECT DISTINCT direction FROM ({TOLD[name]})").fetchall()
        assert {direction for (direction,) in found} < set(DIRECTIONS), name
