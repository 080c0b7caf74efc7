"""loglinear_fit: Tables 4.2 to 4.4, models as users write them, randomized and reconstructed tables."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy.stats import chi2

from ppduck.errors import PpduckWarning
from tests import coil

pytestmark = pytest.mark.core

ADG_MODELS = ("A,D,G", "AD,G", "AG,D", "DG,A")
ABE_MODELS = ("A,B,E", "AB,E", "AE,B", "BE,A", "AB,AE", "AB,BE", "AE,BE")
# χ² as printed. Table 4.3 prints 24.83 for DG,A at (.7, .8, .9); its closed form is 24.8204 from these counts, and no
# rounding of shares or counts on the way gives 24.83, so that it is taken for a misprint.
FIGURES = [
    ("ADG", (1, 1, 1), ADG_MODELS, (435.70, 1.60, 434.40, 435.71)),
    ("ADG", (0.9, 0.9, 0.9), ADG_MODELS, (177.16, 0.61, 176.60, 177.17)),
    ("ADG", (0.7, 0.7, 0.7), ADG_MODELS, (10.97, 0.04, 10.93, 10.97)),
    ("ADG", (0.7, 0.8, 0.9), ADG_MODELS, (24.82, 0.15, 24.68, 24.82)),
    ("ABE", (1, 1, 1), ABE_MODELS, (280.87, 18.33, 264.81, 279.18, 2.28, 18.03, 264.07)),
    ("ABE", (0.9, 0.9, 0.9), ABE_MODELS, (95.05, 6.78, 88.51, 94.68, 0.32, 6.67, 88.35)),
    ("ABE", (0.7, 0.7, 0.7), ABE_MODELS, (4.84, 0.40, 4.44, 4.83, 0.01, 0.40, 4.44)),
    ("ABE", (0.55, 0.9, 0.9), ABE_MODELS, (1.59, 0.21, 1.49, 1.48, 0.11, 0.10, 1.38)),
]
P_VALUES = {"A,D,G": 0.0, "AD,G": 0.66, "AG,D": 0.0, "DG,A": 0.0}  # Table 4.2, 0 for <0.001


@pytest.mark.parametrize(("columns", "p", "models", "printed"), FIGURES)
def test_tables_4_2_to_4_4(
    con: duckdb.DuckDBPyConnection,
    columns: str,
    p: tuple[float, ...],
    models: tuple[str, ...],
    printed: tuple[float, ...],
) -> None:
    coil.table(con, "coil", columns, getattr(coil, columns))
    coil.randomized(con, "published", "coil", dict(zip(columns, p, strict=True)))
    for model, figure in zip(models, printed, strict=True):
        query = f"SELECT chi2, df, p_value FROM loglinear_fit('published', {list(columns)}, model='{model}', count='n')"
        chi2, df, p_value = con.execute(query).fetchone()
        assert round(chi2, 2) == figure, model
        assert df == 7 - 3 - sum(len(part) == 2 for part in model.split(",")), model
        if columns == "ADG" and p == (1, 1, 1):
            assert round(p_value, 2) == P_VALUES[model]


def test_rows_and_weights_agree(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ADG", coil.ADG)
    con.execute("CREATE TABLE people AS SELECT A, D, G FROM coil, range(coil.n::INTEGER)")
    g2, n, p_value_g2 = con.execute(
        "SELECT g2, rows, p_value_g2 FROM loglinear_fit('coil', ['A','D','G'], model='A,D,G', count='n')"
    ).fetchone()
    assert (n, p_value_g2) == (5822, pytest.approx(chi2.sf(g2, 4), rel=1e-9))
    weighed = con.execute("FROM loglinear_fit('coil', ['A','D','G'], model='AD,G', count='n')").fetchall()
    assert con.execute("FROM loglinear_fit('people', ['A','D','G'], model='AD,G')").fetchall() == weighed


def test_cells_of_a_decomposable_model_in_closed_form(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ADG", coil.ADG)
    found = con.execute("FROM loglinear_fit('coil', ['A','D','G'], 'AD,G', count='n', cells=true)")
    assert [column[0] for column in found.description] == ["A", "D", "G", "observed", "fitted", "residual"]
    rows = np.array(found.fetchall(), dtype=float)
    table = np.array(coil.ADG, dtype=float).reshape(2, 2, 2)
    fitted = table.sum(axis=2)[:, :, None] * table.sum(axis=(0, 1)) / table.sum()
    np.testing.assert_allclose(rows[:, 3], table.ravel())
    np.testing.assert_allclose(rows[:, 4], fitted.ravel(), rtol=1e-12)
    np.testing.assert_allclose(rows[:, 5], ((table - fitted) / np.sqrt(fitted)).ravel(), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    ["'age*sex, region'", "'region,sex:age'", "[['age', 'sex'], ['region']]", "'sexage,region'", "'AGE*Sex, REGION'"],
)
def test_every_way_to_write_a_model(con: duckdb.DuckDBPyConnection, model: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 3 AS age, i % 2 AS sex, hash(i) % 4 AS region FROM range(500) AS r(i)")
    found = con.execute(f"SELECT model, df FROM loglinear_fit('t', ['age', 'sex', 'region'], {model})").fetchone()
    assert found == ("age*sex,region", 15)


def test_randomized_views_say_whether_a_model_is_preserved(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ABE", coil.ABE)
    con.execute("CREATE TABLE people AS SELECT row_number() OVER () AS id, A, B, E FROM coil, range(coil.n::INTEGER)")
    con.execute("CREATE VIEW people_rr AS FROM rr_mask('people', p={'A': 0.9, 'B': 0.8}, key='id')")
    ask = "SELECT preserved, note, fitted_to FROM loglinear_fit('people_rr', ['A','B','E'], '{}'{})"
    assert con.execute(ask.format("AB,E", "")).fetchone()[0] is True
    preserved, note, fitted_to = con.execute(ask.format("AB,AE", "")).fetchone()
    assert (preserved, fitted_to) == (False, "rows as they are")
    assert note.startswith('not preserved: "A" is randomized and in two terms')
    assert con.execute(ask.format("AE,BE", "")).fetchone()[0] is True  # E is not randomized
    assert (
        con.execute(ask.format("AB,AE", ", reconstruct='mle'")).fetchone()[2].startswith("rows through their matrices")
    )
    clipped = con.execute(
        "SELECT p_value, fitted_to, chi2 FROM loglinear_fit('people_rr', ['A','B','E'], 'AB,AE', reconstruct='clipped')"
    ).fetchone()
    assert clipped[:2] == (None, "moment estimate, clipped at zero")
    # χ² of the clipped moment estimate, by way of rr_reconstruct.
    con.execute(
        "CREATE TABLE clipped AS SELECT A, B, E, greatest(estimate, 0) AS w FROM rr_reconstruct('people_rr', ['A','B','E'])"
    )
    con.execute("CREATE TABLE scaled AS SELECT A, B, E, 5822 * w / (SELECT sum(w) FROM clipped) AS n FROM clipped")
    by_hand = con.execute(
        "SELECT chi2, rows FROM loglinear_fit('scaled', ['A','B','E'], 'AB,AE', count='n')"
    ).fetchone()
    assert (clipped[2], 5822) == pytest.approx(by_hand)


def test_expected_tables_give_the_original_model_back(con: duckdb.DuckDBPyConnection) -> None:
    """Fitted through the matrices, a model has the margins that it has on the original, whatever was published."""
    coil.table(con, "coil", "ABE", coil.ABE)
    coil.randomized(con, "published", "coil", {"A": 0.9, "B": 0.8, "E": 0.7})
    design = "p={'A': 0.9, 'B': 0.8, 'E': 0.7}"
    whole = "SELECT fitted FROM loglinear_fit('{}', ['A','B','E'], 'ABE', count='n', cells=true{})"
    np.testing.assert_allclose(
        con.execute(whole.format("published", f", {design}, reconstruct='mle'")).fetchnumpy()["fitted"],
        con.execute(whole.format("coil", "")).fetchnumpy()["fitted"],
        rtol=1e-4,
    )


BAD = [
    ("['A','D','G'], 'AX,G'", r'model names "AX", which is none of the columns "A", "D", "G"\. Did you mean "A"\?'),
    ("['A','D','G'], 'A*X,G'", r'model names "X", which is none of the columns'),
    ("['A','D','G'], 'AD,,G'", r"model has an empty term; write it as 'AD,G'"),
    ("['A','D','G'], 'AD*,G'", r"model cannot be read at 'AD\*'"),
    ("['A','D','G'], 'AD'", r'model leaves out column "G"; add it as a term of its own'),
    ("['A','D','G'], 'A*A,D,G'", r"model has a column twice in the term 'A\*A'"),
    ("['A','D','G'], 7", r"model takes a text such as 'AD,G'"),
    ("['A','D'], [['A'], []]", r"model takes a text such as 'AD,G'"),
    ("['A','D','X'], 'A,D,X'", r'columns names column "X", which does not exist'),
    ("['A','A'], 'A'", r'column "A" is named twice'),
    ("['A'], 'A'", r"a loglinear model needs two columns or more"),
    ("['A','D'], 'AD', count='A'", r'count "A" is also one of the columns'),
    ("['A','D'], 'AD', count='m'", r'count names column "m", which does not exist'),
    ("['A','D'], 'AD', reconstruct='mle', randomized=['A']", r"reconstruct needs p or matrix, or a view over rr_mask"),
    ("['A','D'], 'AD', randomized=['G']", r'randomized names column "G", which the call is not about'),
    ("['A','D'], 'AD', p=0.9, randomized=['A']", r"p and matrix tell which columns are randomized"),
    ("['A','D'], 'AD', reconstruct='mle', p=0.5", r"column \"A\" cannot be reconstructed: p = 1/2"),
    ("['A','one'], 'A*one'", r'column "one" has a single level; leave it out'),
    ("['A','id'], 'A,id'", r'column "id" has more than 1,000 levels, which is no category; cut it into classes in tbl'),
    (
        "['A','wrong'], 'A,wrong', count='minus'",
        r'count names column "minus", which holds a negative number in 1,999 of 2,000 rows',
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_is_refused(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS A, i // 2 % 2 AS D, hash(i) % 2 AS G, 1 AS one, i % 3 AS wrong, -i AS minus FROM range(2000) AS r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f"loglinear_fit.*{message}"):
        con.execute(f"FROM loglinear_fit('t', {call})").fetchall()


def test_too_many_cells_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 200 AS a, i % 201 AS b, i % 203 AS c FROM range(1000) AS r(i)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"the table would have 8,160,600 cells \(200 × 201 × 203 levels\)"
    ):
        con.execute("FROM loglinear_fit('t', ['a','b','c'], 'a,b,c')").fetchall()


def test_a_slow_fit_warns(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppduck.kernels.loglinear._FIRST_ROUNDS", 2)
    monkeypatch.setattr("ppduck.kernels.loglinear._ROUNDS", 2)
    con.execute(
        "CREATE TABLE t AS SELECT hash(i) % 3 AS a, hash(i + 9) % 3 AS b, hash(i + 99) % 3 AS c FROM range(40) AS r(i)"
    )
    with pytest.warns(PpduckWarning, match=r"the model ab,ac,bc was not fitted to the end"):
        con.execute("FROM loglinear_fit('t', ['a','b','c'], 'ab,ac,bc')").fetchall()
