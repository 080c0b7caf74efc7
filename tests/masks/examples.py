"""The worked examples of the source papers, as data."""

from __future__ import annotations

import numpy as np

from tests.laws import Matrix, with_moments

# Sarathy & Muralidhar, the 25-row example with two columns: S, X.
TWO_COLUMNS = np.array([
    [-2.2314, 0.6972], [-0.6940, -1.7339], [1.2790, 1.1636], [0.4442, -0.4836], [-1.5884, 0.1432],
    [1.0069, 0.8774], [-0.2114, 0.7093], [0.8827, 0.9078], [0.4523, 0.9337], [-1.0557, -2.7687],
    [0.0808, 0.1185], [0.0729, 0.2172], [-0.3407, -1.7221], [0.7820, 0.3549], [0.4765, 1.5159],
    [0.8657, -0.2492], [-0.0043, 0.5429], [0.5420, -0.0771], [-1.1997, -0.3667], [1.8372, 0.6342],
    [-1.0015, -1.3335], [0.7178, -0.2504], [0.3491, 0.2160], [0.1329, -0.1370], [-1.5950, 0.0904],
])  # fmt: skip

# The same authors' 25-row example with four columns: S1, S2, X1, X2.
FOUR_COLUMNS = np.array([
    [-0.3793, 0.5233, -0.2353, 0.5124], [-0.1618, 0.3718, 2.7470, 0.6557], [-1.4152, -0.4663, -0.4189, 0.0167],
    [-0.4077, 0.3961, -1.7639, -1.3652], [0.2739, -0.8532, -0.0608, 0.8891], [1.1068, 2.0839, 1.8246, -0.3132],
    [2.1818, 0.9395, -0.4480, -0.8477], [-1.0073, -2.3853, -0.4345, 0.2968], [0.9858, 1.0781, -1.3258, -1.8018],
    [0.1139, -0.2034, -0.2942, -0.5151], [0.4142, -0.8983, -0.3442, -0.2562], [-0.8580, 0.3205, 1.1242, 1.7454],
    [0.2773, -0.4921, -0.3768, -1.4787], [0.6457, -0.1180, 0.0981, 0.4519], [-0.1903, 0.6411, -0.2113, 0.4001],
    [-0.8776, 0.1346, -0.5433, 0.3189], [-0.7941, -1.0653, -0.0322, 2.0761], [-1.1311, -1.7688, -0.9724, 1.1834],
    [-0.7989, -0.8843, -0.1855, -0.5428], [0.2944, 1.3029, 1.1571, 1.4588], [-0.0638, 0.0855, -0.5562, -0.3392],
    [2.1286, 1.3500, 1.6608, -0.0101], [-1.0819, -0.3042, -0.0716, -0.9457], [1.5504, 0.3104, -0.5016, -0.6148],
    [-0.8059, -0.0989, 0.1646, -0.9752],
])  # fmt: skip
# The slides print unit variances and correlations 0.6, 0.2, -0.3, 0.4, -0.2, 0.4, but their regressions show total sums
# of squares of 24.00008 and 24.00004: the data behind them had more digits. This covariance, within 4e-6 of the
# nominal one, is the nearest from which every printed figure comes out to its last digit.
FOUR_COVARIANCE = np.array([
    [1.00000150, 0.60000282, 0.20000330, -0.29999910],
    [0.60000282, 0.99999989, 0.40000246, -0.20000205],
    [0.20000330, 0.40000246, 1.00000341, 0.40000140],
    [-0.29999910, -0.20000205, 0.40000140, 1.00000102],
])  # fmt: skip


def two_columns() -> Matrix:
    """The printed rows, moved in the fifth decimal to the exact moments: variance 1, correlation 0.4."""
    return with_moments(TWO_COLUMNS, np.zeros(2), np.array([[1, 0.4], [0.4, 1]]))


def four_columns() -> Matrix:
    """The printed rows, moved in the fifth decimal to the covariance behind the printed figures."""
    return with_moments(FOUR_COLUMNS, np.zeros(4), FOUR_COVARIANCE)


BANK_SIZES = (18_000, 20_000, 12_000)
BANK_MEAN = np.array([0.5, 100, 50, 80, 20, 50])
BANK_SD = np.array([0.5, 20, 10, 20, 5, 10])
BANK_CORRELATION = np.array([
    [1, -0.00023, -0.00214, -0.00295, 0.00184, 0.00689],
    [-0.00023, 1, 0.7, 0.8, 0.5, 0.3],
    [-0.00214, 0.7, 1, 0.75, 0.4, 0.2],
    [-0.00295, 0.8, 0.75, 1, 0.25, 0.15],
    [0.00184, 0.5, 0.4, 0.25, 1, 0.6],
    [0.00689, 0.3, 0.2, 0.15, 0.6, 1],
])  # fmt: skip


def three_banks() -> tuple[Matrix, Matrix]:
    """Al-Ahmadi's 50,000 customers: S1 a coin, the rest normal, with exactly the moments of his Table 2.

    Returns S1, S2, S3, X1, X2, X3 and the bank of each customer.
    """
    rng = np.random.default_rng(2008)
    n = sum(BANK_SIZES)
    coin = rng.permutation(np.repeat([0.0, 1.0], n // 2))
    score = (coin - 0.5) / coin.std(ddof=1)
    rest = rng.normal(size=(n, 5))
    rest -= rest.mean(axis=0)
    rest -= np.outer(score, score @ rest) / (n - 1)
    link = BANK_CORRELATION[0, 1:]
    rest = with_moments(rest, np.zeros(5), BANK_CORRELATION[1:, 1:] - np.outer(link, link))
    rest += np.outer(score, link)
    banks = rng.permutation(np.repeat([1.0, 2.0, 3.0], BANK_SIZES))
    return np.column_stack([coin, BANK_MEAN[1:] + rest * BANK_SD[1:]]), banks
