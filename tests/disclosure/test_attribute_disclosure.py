"""attribute_disclosure: Table 2.5(b), the maxima of Table 5.2, and risks per cell, record and maximum."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppduck.errors import PpduckWarning

pytestmark = pytest.mark.core

QI = "['education', 'marital_status', 'sex', 'race']"
# Table 5.2: E, M, G, R and W for l = 2 to 5, and the maxima that they have on the 30,162 training rows, which it was
# computed on (1/l but for the rounding of p), and on all 45,222.
PUBLISHED = {
    "QI": [((0.824, 0.872, 0.920, 0.941, 1), 0.5001, 0.5024), ((0.548, 0.812, 0.898, 0.985, 1), 0.3335, 0.3459),
           ((0.382, 0.736, 0.918, 0.961, 1), 0.2503, 0.2560), ((0.314, 0.615, 0.873, 0.938, 1), 0.2000, 0.2005)],
    "Both": [((0.824, 0.872, 0.920, 0.941, 1), 0.5001, 0.5024), ((0.573, 0.821, 0.913, 0.973, 0.955), 0.3333, 0.3459),
             ((0.428, 0.780, 0.926, 0.953, 0.871), 0.2501, 0.2631), ((0.353, 0.688, 0.902, 0.953, 0.813), 0.1999, 0.2023)],
}  # fmt: skip


@pytest.fixture
def patients(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Table 2.5(b)."""
    con.execute(
        """CREATE TABLE patients AS FROM (VALUES ('Male', 'Cancer', 8), ('Male', 'Anemia', 16), ('Male', 'Flu', 48),
           ('Female', 'Cancer', 12), ('Female', 'Anemia', 14), ('Female', 'Flu', 2)) AS t(gender, disease, n)"""
    )
    return con


ASK = "SELECT risk, minimum, unmasked FROM attribute_disclosure('patients', qi='gender', sensitive='disease', {}, count='n') WHERE gender = 'Female' AND value = 'Cancer'"


@pytest.mark.parametrize(
    ("p", "smallest", "at"),
    [
        ("{'disease': %s}", 0.18, {"disease": 1 / 3}),
        ("{'gender': %s}", 0.12, {"gender": 1 / 2}),
        ("{'gender': %s, 'disease': %s}", 0.05, {"gender": 1 / 2, "disease": 1 / 3}),
    ],
)
def test_minima_of_table_2_5(
    patients: duckdb.DuckDBPyConnection, p: str, smallest: float, at: dict[str, float]
) -> None:
    kept = p % tuple(0.9 for _ in at)
    risk, minimum, unmasked = patients.execute(ASK.format(f"p={kept}")).fetchone()
    assert (round(minimum, 2), round(unmasked, 2)) == (smallest, 0.43)
    assert minimum < risk < unmasked
    with pytest.warns(PpduckWarning, match="what is published tells nothing of the original"):
        reached = patients.execute(ASK.format(f"p={p % tuple(at.values())}")).fetchone()[0]
    assert reached == pytest.approx(minimum)


def test_nothing_randomized_is_the_share_in_the_group(patients: duckdb.DuckDBPyConnection) -> None:
    risk, minimum, unmasked = patients.execute(ASK.format("p=1")).fetchone()
    assert risk == pytest.approx(12 / 28)
    assert minimum == unmasked == risk


def test_a_matrix_may_stand_for_p(patients: duckdb.DuckDBPyConnection) -> None:
    by_p = patients.execute(ASK.format("p={'gender': 0.8}")).fetchone()
    assert patients.execute(ASK.format("matrix={'gender': [[0.8, 0.2], [0.2, 0.8]]}")).fetchone() == pytest.approx(by_p)


@pytest.mark.parametrize("which", ["QI", "Both"])
def test_maxima_of_table_5_2(con: duckdb.DuckDBPyConnection, reference_data: Path, which: str) -> None:
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data}/adult.parquet'")
    con.execute("CREATE TABLE training AS FROM adult LIMIT 30162")
    for (e, m, g, r, w), *maxima in PUBLISHED[which]:
        p = f"{{'education': {e}, 'marital_status': {m}, 'sex': {g}, 'race': {r}, 'workclass': {w}}}"
        for (table, rows), maximum in zip((("training", 30_162), ("adult", 45_222)), maxima, strict=True):
            found = con.execute(
                f"SELECT max_risk, rows FROM attribute_disclosure('{table}', qi={QI}, sensitive='workclass', p={p}, per='maximum')"
            ).fetchone()
            assert (round(found[0], 4), found[1]) == (maximum, rows)


def test_cells_records_and_maximum_agree(survey: duckdb.DuckDBPyConnection) -> None:
    call = "attribute_disclosure('{}', qi=['gender','smoker'], sensitive=['disease','age10'], p={{'gender': 0.9, 'disease': 0.8}}, per='{}')"
    survey.execute("CREATE TABLE t AS SELECT *, age // 10 AS age10 FROM survey")
    cells = survey.execute(
        f"SELECT gender, smoker, attribute, value, rows, risk FROM {call.format('t', 'cell')}"
    ).fetchall()
    known = {(gender, smoker, attribute, value): (n, risk) for gender, smoker, attribute, value, n, risk in cells}
    assert len(known) == len(cells)
    rows = survey.execute(
        f"SELECT gender, smoker, disease, age10, risk_disease, risk_age10 FROM {call.format('t', 'record')}"
    ).fetchall()
    assert len(rows) == 6000
    for gender, smoker, disease, age, one, two in rows[:500]:
        assert one == known[gender, smoker, "disease", disease][1]
        assert two == known[gender, smoker, "age10", str(age)][1]
    for attribute, largest, mean, records in survey.execute(
        f"SELECT attribute, max_risk, mean_risk, rows FROM {call.format('t', 'maximum')}"
    ).fetchall():
        own = [each for key, each in known.items() if key[2] == attribute]
        assert (largest, records) == (max(risk for _, risk in own), 6000)
        assert mean == pytest.approx(sum(n * risk for n, risk in own) / 6000)
    again = survey.execute(
        f"SELECT count(*), sum(risk_disease) FROM {call.format('(SELECT * FROM t)', 'record')}"
    ).fetchone()
    assert again == (6000, pytest.approx(sum(row[4] for row in rows)))


def test_the_domain_is_that_of_the_mask(con: duckdb.DuckDBPyConnection) -> None:
    """rr_mask draws from all values of an enum, and so the risk must be told and the parameters sought for them."""
    con.execute("CREATE TYPE grade AS ENUM ('u', 'v', 'w', 'x', 'y', 'z')")
    con.execute(
        "CREATE TABLE t AS SELECT ['u','v','w'][1 + (hash(i) % 3)::INT]::grade AS g, (hash(i) % 3 * (hash(i + 1) % 2))::INT AS s FROM range(2000) AS r(i)"
    )
    told = "SELECT max_risk FROM attribute_disclosure('{}', qi='g', sensitive='s', p={{'g': 0.5}}, per='maximum'{})"
    by_enum = con.execute(told.format("t", "")).fetchone()[0]
    text = "(SELECT g::VARCHAR AS g, s FROM t)"
    assert by_enum == con.execute(told.format(text, ", levels={'g': ['u','v','w','x','y','z']}")).fetchone()[0]
    assert by_enum > con.execute(told.format(text, "")).fetchone()[0] + 0.01
    levels = con.execute(
        "SELECT levels, max_risk FROM rr_optimize('t', qi='g', sensitive='s', tau=0.4) WHERE column_name = 'g'"
    ).fetchone()
    assert levels == (6, pytest.approx(0.4, abs=1e-6))
    with pytest.raises(duckdb.InvalidInputException, match="rows hold a value that is none of the levels"):
        con.execute(told.format(text, ", levels={'g': ['u','v']}"))


def test_counts_stand_for_rows(patients: duckdb.DuckDBPyConnection) -> None:
    patients.execute("CREATE TABLE rows_of_them AS SELECT gender, disease FROM patients, range(n)")
    for ask in (
        "SELECT * FROM attribute_disclosure('{}', qi='gender', sensitive='disease', p=0.9{}) ORDER BY ALL",
        "SELECT * FROM attribute_disclosure('{}', qi='gender', sensitive='disease', p=0.9, per='maximum'{})",
    ):
        one, two = ask.format("patients", ", count='n'"), ask.format("rows_of_them", "")
        assert patients.execute(one).fetchall() == patients.execute(two).fetchall()
    patients.execute("INSERT INTO patients VALUES ('Other', 'Flu', 0)")
    cells = "FROM attribute_disclosure('patients', qi='gender', sensitive='disease', p=0.9, count='n')"
    assert len(patients.execute(cells).fetchall()) == 6


def test_null_is_an_error_unless_told(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS a, i % 3 AS s, CASE WHEN i % 5 > 0 THEN i % 4 END AS s2 FROM range(60) AS r(i)"
    )
    for call in (
        "attribute_disclosure('t', qi='a', sensitive=['s','s2'], p=0.9{})",
        "rr_optimize('t', qi='a', sensitive=['s','s2'], tau=0.5{})",
    ):
        with pytest.raises(
            duckdb.InvalidInputException, match=r"12 rows have NULL in one of the columns.*on_null := 'drop'"
        ):
            con.execute(f"FROM {call.format('')}")
        assert con.execute(
            f"SELECT count(*) > 0 FROM {call.format(', on_null=' + chr(39) + 'drop' + chr(39))}"
        ).fetchone() == (True,)
    risks = con.execute(
        "SELECT count(risk_s), count(risk_s2) FROM attribute_disclosure('t', qi='a', sensitive=['s','s2'], p=0.9, per='record', on_null='drop')"
    ).fetchone()
    assert risks == (48, 48)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("qi='gender', sensitive='disease'", r"give p := \{'column': 0\.8, …\} or matrix"),
        ("qi='gender', sensitive='disease', p={'gendr': 0.9}", r'p names column "gendr", which is neither in qi nor sensitive\. Did you mean "gender"'),
        ("qi='gender', sensitive='disease', p={'gender': 0.4}", r'p of column "gender" is 0\.4, less than 1/2.*Take p above 0\.5'),
        ("qi='gender', sensitive='gender', p=0.9", r'column "gender" is named twice'),
        ("qi=[], sensitive='disease', p=0.9", r"qi is empty; name at least one column"),
        ("qi='id', sensitive='disease', p=0.9", r'column "id" has more than 1,000 levels'),
        ("qi='gender', sensitive='one', p=0.9", r'column "one" has a single level'),
        ("qi='gender', sensitive='disease', p=1.5", r"p must be from 0\.000000001 to 0\.999999999, or 1, got 1\.5"),
        ("qi='gender', sensitive='disease', matrix={'gender': [[0.8, 0.2, 0], [0.2, 0.8, 0], [0, 0, 1]]}", r'matrix of column "gender" is 3×3, but 2 levels occur'),
        ("qi='gender', sensitive='disease', matrix={'gender': [[0.8, 0.3], [0.2, 0.8]]}", r"must have columns that sum to 1"),
        ("qi=['m1','m2','m3'], sensitive='disease', p=0.9", r"the quasi-identifiers have 8,160,600 combinations of levels"),
        ("qi='risk', sensitive='disease', p=0.9", r'column "risk" is called like a column of the result'),
        ("qi='gender', sensitive='disease', matrix={'gender': [[0.8, 0.2], [0.2]]}", r"must be square, at least 2×2, got 2×1 or 2"),
        ("qi='gender', sensitive='disease', p=0.9, per='row'", r"per takes one of 'cell', 'record', 'maximum'"),
    ],
)  # fmt: skip
def test_what_is_refused(survey: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    survey.execute(
        "CREATE TABLE t AS SELECT *, 1 AS one, id % 200 AS m1, id % 201 AS m2, id % 203 AS m3, id % 2 AS risk FROM survey"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f"attribute_disclosure.*{message}"):
        survey.execute(f"FROM attribute_disclosure('t', {call})").fetchall()
