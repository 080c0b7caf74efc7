"""What one fit and a search share: the parameters, the table that is fitted to, and what is said of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.association.loglinear_table import Fitter, LoglinearSpec
from ppduck.call.registry import function_named
from ppduck.errors import PpduckError
from ppduck.estimators.cells import CellColumn
from ppduck.kernels.distortion import Reconstruction, uniform

pytestmark = pytest.mark.core
INDEPENDENT, SATURATED = ((0,), (1,)), ((0, 1),)
TABLE = np.array([[30.0, 20.0], [10.0, 40.0]])


def fitter(reconstruct: str = "no", randomized: tuple[int, ...] = (), table: np.ndarray = TABLE) -> Fitter:
    ps = [0.8 if i in randomized else 1.0 for i in range(table.ndim)]
    columns = tuple(CellColumn(name, p, None) for name, p in zip("ABC", ps, strict=False))
    spec = LoglinearSpec("loglinear_fit", "t", columns, 1000, reconstruct, randomized)
    matrices = tuple(uniform(p, size) for p, size in zip(ps, table.shape, strict=True))
    return Fitter(spec, Reconstruction(table, matrices))


def test_both_functions_take_the_same_and_their_own_behind_the_columns() -> None:
    fit, models = ([each.name for each in function_named(f"loglinear_{end}").parameters] for end in ("fit", "models"))
    assert [name for name in fit if name not in ("model", "cells")] == [name for name in models if name != "search"]
    assert (fit[2], fit[-1], models[-1]) == ("model", "cells", "search")


def test_independence_in_closed_form() -> None:
    found = fitter()
    fitted = found.fit(INDEPENDENT)
    assert np.allclose(fitted.fitted, np.outer(TABLE.sum(1), TABLE.sum(0)) / 100)
    row = found.row(INDEPENDENT, fitted)
    assert (row["model"], row["df"], row["rows"]) == ("A,B", 1, 100)
    assert row["chi2"] == pytest.approx(100 * (30 * 40 - 20 * 10) ** 2 / (50 * 50 * 40 * 60))
    assert (row["fitted_to"], row["note"]) == ("rows as they are", "no column is known to be randomized")


def test_the_saturated_model_fits_what_it_is_fitted_to() -> None:
    for how in ("no", "clipped", "mle"):
        found = fitter(how, (0,))
        assert np.allclose(found.fit(SATURATED).fitted, found.table, atol=1e-6)


def test_a_reconstructed_table_is_the_original_where_rows_are_as_expected() -> None:
    expected = uniform(0.8, 2) @ TABLE
    for how in ("clipped", "mle"):
        assert np.allclose(fitter(how, (0,), expected).table, TABLE, atol=1e-4)


def test_a_clipped_table_has_no_p_value_and_no_negative_cell() -> None:
    extreme = np.array([[50.0, 0.0], [1.0, 49.0]])
    found = fitter("clipped", (0, 1), extreme)
    assert found.table.min() == 0
    assert found.table.sum() == pytest.approx(100)
    row = found.row(INDEPENDENT, found.fit(INDEPENDENT))
    assert row["p_value"] is row["p_value_g2"] is None
    assert "no p-value" in row["note"]


@pytest.mark.parametrize(
    ("model", "randomized", "kept"),
    [(((0, 1), (2,)), (0,), True), (((0, 1), (0, 2)), (0,), False), (((0, 1), (0, 2)), (1, 2), True)],
)
def test_a_randomized_column_in_two_terms_is_not_preserved(
    model: tuple[tuple[int, ...], ...], randomized: tuple[int, ...], kept: bool
) -> None:
    """Guo (2010), Theorem 2."""
    found = fitter(randomized=randomized, table=np.arange(1.0, 9.0).reshape(2, 2, 2))
    row = found.row(model, found.fit(model))
    assert row["preserved"] is kept
    assert ('"A" is randomized and in two terms' in row["note"]) is not kept


def test_a_column_of_one_level_is_refused() -> None:
    with pytest.raises(PpduckError, match=r'^loglinear_fit on "t": column "B" has a single level; leave it out'):
        fitter(table=np.array([[3.0], [4.0]]))


def test_too_many_cells_for_the_likelihood_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppduck.kernels.loglinear_distortion.MOST_CELLS", 3)
    with pytest.raises(PpduckError, match=r"the table has 4 cells, and reconstruct := 'mle' works on 3 at most"):
        fitter("mle", (0,))
