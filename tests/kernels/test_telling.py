"""What a released column tells: every kind of leak is found, and what has nothing to do with conf is not."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ppduck.kernels.finding import FEWEST, Finding
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.telling import Search

pytestmark = pytest.mark.core

N = 1000


class Data:
    """Incomes in cents, debts, what is open, and a mask by regression on that, drawn anew."""

    def __init__(self, seed: int, n: int = N) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.n = n
        self.age = rng.integers(20, 70, n).astype(float)
        self.region = rng.integers(0, 4, n)
        self.open = np.column_stack([self.age, *(self.region == level for level in range(1, 4))]).astype(float)
        income = np.round(np.exp(10 + 0.012 * self.age + 0.12 * self.region + 0.35 * rng.normal(size=n)), 2)
        debt = np.round(0.3 * income * np.exp(0.3 * rng.normal(size=n)), 2)
        self.x = np.column_stack([income, debt])
        self.key = rng.permutation(n).astype(float)
        self.disease = [str(level) for level in rng.choice(["flu", "gout", "asthma"], n, p=[0.5, 0.3, 0.2])]
        self.y = self.masked()

    @property
    def income(self) -> np.ndarray:
        return self.x[:, 0]

    @property
    def whole(self) -> np.ndarray:
        return np.round(self.income).astype(int)

    def masked(self) -> np.ndarray:
        """Means by what is open, and residuals of the same covariance that are drawn anew."""
        design = np.column_stack([np.ones(self.n), self.open])
        means = design @ np.linalg.lstsq(design, self.x, rcond=None)[0]
        covariance = np.cov((self.x - means).T)
        return means + self.rng.multivariate_normal([0, 0], covariance, self.n)

    def search(self, y: np.ndarray | None = None) -> Search:
        masked = self.y if y is None else y
        sample = Sample(self.open, ["income", "debt"], self.x, masked, ["disease"], [self.disease], self.key[:, None])
        return Search(sample)

    def found(self, role: Role, kind: Type, values: Sequence[object], y: np.ndarray | None = None) -> Finding:
        name = "income" if role is Role.MASKED else "c"
        found = self.search(y).found_in(Candidate(name, role, kind, [written(value) for value in values]))
        assert found is not None
        return found


def written(value: object) -> str | None:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def moved_on(value: float) -> str:
    return f"{value:.2f}".translate(str.maketrans("0123456789", "3456789012"))


def hashed(name: str, shape: str = "{!r}", cut: int | None = None) -> Callable[[Data], list[str]]:
    return lambda data: [hashlib.new(name, shape.format(float(v)).encode()).hexdigest()[:cut] for v in data.income]


Make = Callable[[Data], Sequence[object]]
GROUPS = np.array([3e5, -2e5, 7e4, 9e5])
# A new column: of numbers, and of texts or dates.
NUMBERS: dict[str, Make] = {
    "as it is": lambda data: data.income,
    "affine": lambda data: -1.1 * data.income + 500,
    "the logarithm": lambda data: np.log(data.income),
    "the inverse": lambda data: 1 / data.income,
    "ranks": lambda data: np.argsort(np.argsort(data.income)),
    "bands": lambda data: np.floor(data.income / 10_000),
    "above the median": lambda data: (data.income > np.median(data.income)).astype(int),
    "with a random sign": lambda data: data.income * data.rng.choice([-1, 1], N),
    "with noise of a tenth": lambda data: data.income * np.exp(0.1 * data.rng.normal(size=N)),
    "modulo a number": lambda data: (7919 * data.whole) % 1_000_003,
    "remainder behind random digits": lambda data: data.rng.integers(1, 1000, N) * 10**8 + data.whole,
    "quotient before random digits": lambda data: data.whole * 10**6 + data.rng.integers(0, 10**6, N),
    "some bits flipped": lambda data: data.whole ^ 0x2A5F,
    "digits backwards": lambda data: [int(str(value)[::-1]) for value in data.whole],
    "digits moved on": lambda data: [int(moved_on(value).replace(".", "")) for value in data.income],
    "a constant of a group": lambda data: data.income + GROUPS[data.region],
    "a constant of another group": lambda data: data.income + 10 * data.rng.permutation(GROUPS[data.region]),
    "a sum with debt": lambda data: data.income + data.x[:, 1],
    "a difference with what is masked": lambda data: data.income - data.y[:, 0],
    "a product with debt": lambda data: data.income * data.x[:, 1],
    "a ratio to age": lambda data: data.income / data.age,
    "as a fraction": lambda data: data.rng.integers(0, 1000, N) + data.income / 1e6,
    "NULL for the rich": lambda data: np.where(data.income > np.quantile(data.income, 0.8), np.nan, 1.0),
    "how far from the middle": lambda data: np.abs(data.income - np.median(data.income)),
    "the disease behind the point": lambda data: np.floor(data.masked()[:, 0]) + 0.1 * of_disease(data),
    "in one row of ten": lambda data: np.where(data.rng.random(N) < 0.1, data.income, data.y[:, 0]),
    "in one row of ten and NULL": lambda data: np.where(data.rng.random(N) < 0.1, data.income, np.nan),
    "a code of the disease": lambda data: [["gout", "flu", "asthma"].index(level) for level in data.disease],
}


def of_disease(data: Data) -> np.ndarray:
    return np.array([["gout", "flu", "asthma"].index(level) for level in data.disease])


TEXTS: dict[str, tuple[Type, Make]] = {
    "a number": (Type.TEXT, lambda data: [repr(float(value)) for value in data.income]),
    "base64": (Type.TEXT, lambda data: [base64.b64encode(repr(float(v)).encode()).decode() for v in data.income]),
    "hexadecimal digits": (Type.TEXT, lambda data: [f"{value:x}" for value in data.whole]),
    "hexadecimal bytes": (Type.TEXT, lambda data: [repr(float(value)).encode().hex() for value in data.income]),
    "a sentence": (Type.TEXT, lambda data: [f"no. {i} earns {v} a year" for i, v in enumerate(data.whole)]),
    "digits moved on": (Type.TEXT, lambda data: [moved_on(value) for value in data.income]),
    "the length": (Type.TEXT, lambda data: ["#" * (value // 500) for value in data.whole]),
    "words of bands": (Type.TEXT, lambda data: [f"band {'abcdefghij'[min(v // 20_000, 9)]}" for v in data.whole]),
    "md5": (Type.TEXT, hashed("md5")),
    "sha1": (Type.TEXT, hashed("sha1", "{:.2f}")),
    "sha256": (Type.TEXT, hashed("sha256")),
    "sha512, cut": (Type.TEXT, hashed("sha512", "{:.0f}", 12)),
    "md5 of the disease": (
        Type.TEXT, lambda data: [hashlib.md5(level.encode()).hexdigest() for level in data.disease],
    ),
    "another word for the disease": (
        Type.TEXT, lambda data: [{"flu": "A", "gout": "B", "asthma": "C"}[level] for level in data.disease],
    ),
    "NULL for the rich": (Type.TEXT, lambda data: [None if v > 60_000 else "here" for v in data.income]),
    "days": (Type.DATE, lambda data: np.datetime_as_string(np.datetime64("2000-01-01") + data.whole // 100)),
    "seconds": (
        Type.DATE, lambda data: [str(s).replace("T", " ") for s in np.datetime64("2000-01-01T00:00:00") + data.whole],
    ),
}  # fmt: skip


def cases(table: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", list(table))


@pytest.mark.parametrize("seed", range(2))
@cases(NUMBERS)
def test_a_new_number_that_tells_is_found(name: str, seed: int) -> None:
    data = Data(seed)
    found = data.found(Role.OTHER, Type.NUMBER, NUMBERS[name](data))
    assert not found.passed
    assert found.conf in ("income", "debt", "disease")


@pytest.mark.parametrize("seed", range(2))
@cases(TEXTS)
def test_a_new_text_or_date_that_tells_is_found(name: str, seed: int) -> None:
    data = Data(seed)
    kind, make = TEXTS[name]
    assert not data.found(Role.OTHER, kind, make(data)).passed


def by_key(data: Data, source: np.ndarray) -> np.ndarray:
    """Incomes of other places in the order of the key."""
    order = np.argsort(data.key)
    found = np.empty(N)
    found[order] = data.income[order][source]
    return found


MASKED: dict[str, Make] = {
    "with a random sign": NUMBERS["with a random sign"],
    "modulo a number": NUMBERS["modulo a number"],
    "remainder behind random digits": NUMBERS["remainder behind random digits"],
    "quotient before random digits": NUMBERS["quotient before random digits"],
    "some bits flipped": NUMBERS["some bits flipped"],
    "digits backwards": NUMBERS["digits backwards"],
    "digits moved on": NUMBERS["digits moved on"],
    "a constant of a group": NUMBERS["a constant of a group"],
    "NULL for the rich": lambda data: np.where(data.income > np.quantile(data.income, 0.8), np.nan, data.y[:, 0]),
    "digits behind the first decimal": lambda data: np.round(data.y[:, 0], 1) + data.whole / 1e8,
    "how far from the middle": NUMBERS["how far from the middle"],
    "the disease behind the point": NUMBERS["the disease behind the point"],
    "moved to the next key": lambda data: by_key(data, np.roll(np.arange(N), 1)),
    "two neighbours who changed places": lambda data: by_key(data, np.arange(N) ^ 1),
    "a power of the key added": lambda data: data.income + 100 * data.key**2,
    "a multiple of the key added": lambda data: data.income + 12_345 * data.key,
    "of numbers too small to square": lambda data: (data.income + 20 * data.y[:, 0] / data.y[:, 0].std()) * 1e-170,
}


@pytest.mark.parametrize("seed", range(2))
@cases(MASKED)
def test_a_masked_column_that_hides_its_original_is_found(name: str, seed: int) -> None:
    data = Data(seed)
    own = np.array(MASKED[name](data), dtype=float)
    assert not data.found(Role.MASKED, Type.NUMBER, own, np.column_stack([own, data.y[:, 1]])).passed


@pytest.mark.parametrize("seed", range(2))
def test_masked_numbers_too_small_to_square_pass(seed: int) -> None:
    data = Data(seed)
    tiny = data.y * 1e-170
    assert data.found(Role.MASKED, Type.NUMBER, tiny[:, 0], tiny).passed


@pytest.mark.parametrize("seed", range(2))
def test_sorted_rows_are_found_and_also_when_sorted_within_groups(seed: int) -> None:
    data = Data(seed)
    middle = np.abs(data.income - np.median(data.income))
    for sorted_by in (
        [data.income],
        [-data.income],
        [middle],
        [data.income, data.key // 100],
        [data.income, data.region],
        [data.x[:, 1], data.age // 5],
    ):
        place = np.empty(N)
        place[np.lexsort(sorted_by)] = np.arange(N)
        found = data.found(Role.ORDER, Type.NUMBER, place)
        assert not found.passed
    folded = np.abs(data.y[:, 0] - np.median(data.y[:, 0]))
    for harmless in (data.key, data.age + data.key / N, np.argsort(np.argsort(data.y[:, 0])), folded):
        assert data.found(Role.ORDER, Type.NUMBER, harmless).passed


@pytest.mark.parametrize("seed", range(2))
def test_a_key_that_holds_a_value_is_found(seed: int) -> None:
    data = Data(seed)
    inside = [f"C-{i:04d}-{value:.2f}" for i, value in enumerate(data.income)]
    assert not data.found(Role.KEY, Type.TEXT, inside).passed
    ranked = np.argsort(np.argsort(data.income))
    assert not data.found(Role.KEY, Type.NUMBER, ranked).passed
    assert data.found(Role.KEY, Type.NUMBER, data.key).passed
    assert data.found(Role.KEY, Type.TEXT, [f"C-{key:04.0f}" for key in data.key]).passed


@pytest.mark.parametrize("seed", range(2))
def test_a_kept_column_fails_only_if_it_is_all_but_conf_itself(seed: int) -> None:
    data = Data(seed)
    assert data.found(Role.KEPT, Type.NUMBER, data.age).passed
    related = data.income * np.exp(0.2 * data.rng.normal(size=N))
    assert data.found(Role.KEPT, Type.NUMBER, related).passed
    for copied in (data.income, 12 * data.income, np.log(data.income)):
        assert not data.found(Role.KEPT, Type.NUMBER, copied).passed


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("role", "shares"), [(Role.KEPT, [0.5, 0.3, 0.2]), (Role.OTHER, [0.99, 0.006, 0.004])])
def test_another_word_for_each_level_of_a_category_is_found(role: Role, shares: list[float], seed: int) -> None:
    data = Data(seed)
    data.disease = [str(level) for level in data.rng.choice(["flu", "gout", "asthma"], N, p=shares)]
    assert not data.found(role, Type.TEXT, [level.upper() for level in data.disease]).passed


def test_null_and_an_empty_text_tell_a_level() -> None:
    data = Data(1)
    assert not data.found(Role.OTHER, Type.TEXT, ["" if level == "flu" else None for level in data.disease]).passed


INDEPENDENT: dict[str, tuple[Type, Make]] = {
    "normal": (Type.NUMBER, lambda data: data.rng.normal(size=N)),
    "whole": (Type.NUMBER, lambda data: data.rng.integers(0, 10**6, N)),
    "cents": (Type.NUMBER, lambda data: np.round(np.exp(data.rng.normal(10, 0.5, N)), 2)),
    "values of others": (Type.NUMBER, lambda data: data.rng.permutation(data.income)),
    "heavy tails": (Type.NUMBER, lambda data: data.rng.standard_cauchy(N)),
    "a constant": (Type.NUMBER, lambda data: np.ones(N)),
    "gaps": (Type.NUMBER, lambda data: np.where(data.rng.random(N) < 0.3, np.nan, data.rng.normal(size=N))),
    "a mask": (Type.NUMBER, lambda data: data.masked()[:, 0]),
    "two values": (Type.NUMBER, lambda data: data.rng.integers(0, 2, N)),
    "words": (Type.TEXT, lambda data: data.rng.choice(["a", "b", "c", "d"], N)),
    "tokens": (Type.TEXT, lambda data: [f"{v:016x}" for v in data.rng.integers(0, 2**62, N)]),
    "sentences": (Type.TEXT, lambda data: [f"no. {a} has {b}" for a, b in data.rng.integers(1, 999, (N, 2))]),
    "days": (
        Type.DATE,
        lambda data: np.datetime_as_string(np.datetime64("2000-01-01") + data.rng.integers(0, 9999, N)),
    ),
}


@cases(INDEPENDENT)
def test_what_is_independent_passes(name: str) -> None:
    kind, make = INDEPENDENT[name]
    for seed in range(6):
        data = Data(seed)
        found = data.found(Role.OTHER, kind, make(data))
        assert found.passed, (seed, found)


PUBLIC: dict[str, Make] = {
    "bands of age": lambda data: np.floor(data.age / 5),
    "tenths of age": lambda data: np.floor(np.argsort(np.argsort(data.age)) / 100),
    "age squared": lambda data: data.age**2,
    "age in months": lambda data: 12 * data.age + 3,
    "region": lambda data: data.region,
    "region as other numbers": lambda data: np.array([4, 1, 3, 2])[data.region],
    "what is masked": lambda data: data.y[:, 0],
    "a sum of what is masked": lambda data: data.y @ [2, -1],
    "age and region": lambda data: data.age + 10 * data.region,
}


@cases(PUBLIC)
def test_what_is_made_of_public_columns_passes(name: str) -> None:
    for seed in range(5):
        data = Data(seed)
        found = data.found(Role.OTHER, Type.NUMBER, PUBLIC[name](data))
        assert found.passed, (seed, found)


def test_masked_columns_pass_in_all_but_one_of_200_draws() -> None:
    """Of 400 columns, each read in all ways; of 300 rows, in which chance makes more."""
    alarms = []
    for seed in range(200):
        data = Data(seed, 300)
        search = data.search()
        for place in range(2):
            own = [repr(float(value)) for value in data.y[:, place]]
            found = search.found_in(Candidate(search.sample.conf[place], Role.MASKED, Type.NUMBER, own))
            if found is not None and not found.passed:
                alarms.append((seed, found))
    assert len(alarms) <= 1, alarms


def test_of_few_rows_nothing_is_said() -> None:
    few = Data(1, FEWEST - 1)
    own = [repr(float(value)) for value in few.income]
    assert few.search().found_in(Candidate("c", Role.OTHER, Type.NUMBER, own)) is None
    enough = Data(1, FEWEST)
    own = [repr(float(value)) for value in enough.income]
    found = enough.search().found_in(Candidate("c", Role.OTHER, Type.NUMBER, own))
    assert found is not None
    assert not found.passed


def test_the_same_question_has_the_same_answer() -> None:
    data = Data(7)
    own = data.rng.normal(size=N)
    assert data.found(Role.OTHER, Type.NUMBER, own) == data.found(Role.OTHER, Type.NUMBER, own)


@pytest.mark.parametrize("missing", [0.1, 0.9])
def test_where_conf_is_null_the_other_rows_tell(missing: float) -> None:
    data = Data(8)
    data.x[data.rng.random(N) < missing, 0] = np.nan
    own = np.where(np.isnan(data.income), 1.0, 3 * data.income)
    found = data.found(Role.OTHER, Type.NUMBER, own)
    assert not found.passed
    assert data.found(Role.OTHER, Type.NUMBER, data.rng.normal(size=N)).passed
