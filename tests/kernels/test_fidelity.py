"""Fidelity of estimated tables: formulas by hand, and what a perfect estimate has."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.association import uncertainty
from ppduck.kernels.fidelity import base_error, cube_error, distances, uncertainties

TRUE = np.array([[0.4, 0.1], [0.0, 0.5]])
FOUND = np.array([[0.3, 0.2], [0.1, 0.4]])


def test_distances_by_hand() -> None:
    found = distances(TRUE, FOUND, 100)
    assert found["variational"] == pytest.approx(0.2)
    assert found["l2"] == pytest.approx(0.2)
    assert found["kl"] == pytest.approx(0.4 * np.log(4 / 3) + 0.1 * np.log(0.5) + 0.5 * np.log(5 / 4))
    assert found["chi2"] == pytest.approx(0.01 / 0.4 + 0.01 / 0.1 + 0.01 / 0.5)


def test_empty_and_negative_cells_are_a_tenth_of_a_row() -> None:
    floored = np.array([0.5, 0.001, 0.001, 0.499])
    floored /= floored.sum()
    true = np.array([0.4, 0.1, 0.1, 0.4])
    found = distances(true, np.array([0.5, -0.2, 0.0, 0.499]), 100)
    assert found["kl"] == pytest.approx((true * np.log(true / floored)).sum())


def test_errors_of_queries() -> None:
    assert base_error(TRUE, FOUND) == pytest.approx((0.25 + 1 + 0.2) / 3)
    # The cells, the two margins of rows and of columns, and the total.
    rows, columns = np.abs(TRUE.sum(1) - FOUND.sum(1)) / TRUE.sum(1), np.abs(TRUE.sum(0) - FOUND.sum(0)) / TRUE.sum(0)
    margins = [0.25, 1, 0.2, *rows, *columns, 0]
    assert cube_error(TRUE, FOUND) == pytest.approx(np.mean(margins))


def test_a_perfect_estimate() -> None:
    table = np.random.default_rng(1).dirichlet([1] * 24).reshape(2, 3, 4)
    assert max(distances(table, table, 1e6).values()) < 1e-9
    assert base_error(table, table) == cube_error(table, table) == 0
    found = uncertainties(table)
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    assert found[0, 2] == pytest.approx(float(uncertainty(table.sum(axis=1), 1.0)))


def test_a_product_has_no_association() -> None:
    found = uncertainties(np.outer([0.2, 0.8], [0.3, 0.7]))
    assert found[0, 1] == pytest.approx(0, abs=1e-12)
    assert found[0, 1] >= 0
