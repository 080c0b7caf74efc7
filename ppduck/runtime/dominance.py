"""A row that outweighs all others: what a release tells of it, and from where on that is warned of or refused.

A row is judged by its leverage h in [1, S, X], which is no less than that in [1, S], and no less than its share of a
column's centred sum of squares. Simulated with EGADP (n = 1,000, one row far out in all of q conf columns, 60 tables
for each share; the size is read from the exact variance, as √Σ(y - ȳ)², and the row is where noise is smallest):

    share of the row      0.5   0.6   0.7   0.8   0.9   0.95  0.99  0.999
    size read to within   41 %  29 %  20 %  12 %  5 %   3 %   0.5 % 0.1 %     (1/√share - 1, whatever n is)
    row found, q = 1      0     0     0.02  0.02  0     0     0.02  0.02
    row found, q = 3      0.02  0     0     0.05  0.12  0.28  0.75  0.97
    row found, q = 5      0.05  0.05  0.23  0.42  0.77  0.98  1     1

A row of leverage h in [1, S] whose X is as extreme as its S is predicted by itself to within 1 - h: 20 % at 0.8, 6 % at
0.938. So a share of 0.8 is refused, where a size is told to about a tenth, as the p % rule of published tables has it
(Hundepool et al. 2012, Statistical Disclosure Control, section 4.2), and one of 0.6 is warned of. The share of a column
is judged as it is; a leverage in several terms, of which rows of small tables have much by chance, by how far it is
beyond three times the average, and where that is most of it only in S, from 0.95 on. With curves that a model has
learnt, which by themselves bend where few rows are, it is judged from 0.95 on, and once more without them. Squares and
products of X, which nm_egadp_mask keeps its noise free of, weigh a far row more than X does: one of 30 % of a variance
has 97 % of that of X², and was found in 7 of 11 tables with q = 3. Those of which a row makes up 20 % are left out, and
it was found in none.

Noise that is added to X itself (noise_mask, kim_mask) leaves such a row where it was, to be read to within
√(level/(n·share)): 1 % for level 0.1 and n = 1,000. gadp_mask hides which row it is, but its variance tells the size to
1/√(2n) more, 2 % at n = 1,000: it is warned of, not refused. Masks on ranks weigh no row more than others.

A row that lacks a conf column is in no moments, but its other values are masked by the same formula. Where that has X
in it, such a row is judged by the share that it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from ppduck import notes
from ppduck.call.linear_mask import Request, Weighing
from ppduck.errors import listed
from ppduck.frozen import frozen
from ppduck.kernels import leverage
from ppduck.kernels.linear import Blocks, independent
from ppduck.runtime.nearness import Column
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array

WARNED, REFUSED = 0.6, 0.8
# Noise is made uncorrelated with products of terms, but not with one of which a single row makes up more
# than this share: it would tell of that row.
HEAVY = 0.2
# A row of higher leverage is predicted by little but itself, however few rows there are.
ALONE = 0.95
_REMEDIES = (
    "cut extreme values in a SELECT (top coding), mask the row among its peers (strata), leave it out, or take "
    "gadp_mask, which draws all values anew and keeps moments only roughly"
)

_LACKING = (
    "a single row that lacks another conf column would make up more than {} of the variance of conf column "
    "{{columns}}{{groups}}, so that its masked value tells how far out it is"
)


@frozen
class Reach:
    """How far rows reach in the terms in which one may stand apart, and in conf whether or not a row lacks others."""

    lows: Array
    highs: Array
    base_rows: Sequence[int]  # rows of each category's first level, which has no indicator
    centres: Array = field(default_factory=lambda: np.empty(0))
    columns: Column | None = None


@frozen(kw_only=True)
class Judged:
    """The terms in which a row may stand apart, and how far the rows reach in each."""

    request: Request
    blocks: Blocks
    weighing: Weighing
    places: list[int]  # the terms whose values are known row by row
    explaining: list[int]  # the terms of S that X is regressed on
    low: Array  # of every term of [S, X], from its mean; 0 where it is not looked at
    high: Array
    lonely: list[str]  # first levels, which have no indicator, that only one row has
    categories: Sequence[list[int]]
    learnt: frozenset[int]  # the terms of S that a model has learnt, which bend where few rows are
    products: frozenset[int]  # squares and products of terms, which noise may be kept free of
    # conf columns, and the largest share that a row without others would have
    incomplete: list[tuple[str, float]]

    @classmethod
    def of(cls, spec: MaskSpec, request: Request, blocks: Blocks, reach: Reach) -> Judged:
        mask, places = spec.linear_mask, spec.places
        weighing = mask.weighs_x(request.call)
        x = list(range(blocks.p, blocks.p + blocks.q)) if weighing != "none" else []
        known = [*range(blocks.p), *x]  # what ``Measured.judged`` has looked at
        low, high = np.zeros((2, blocks.p + blocks.q))
        low[known], high[known] = reach.lows - blocks.mean[known], reach.highs - blocks.mean[known]
        terms = places.explaining
        judged = [i for i in known if i < terms or (i >= blocks.p and weighing == "all")]
        lonely = [
            name for name, count in zip(spec.bases, reach.base_rows, strict=True) if count == 1
        ]
        incomplete = []
        if reach.columns is not None and x and mask.reads_x != "none" and not places.fitted:
            least, most = (
                end - reach.centres - blocks.mean[x]
                for end in (reach.columns.least, reach.columns.most)
            )
            outside = np.where(
                (least < 1.001 * low[x]) | (most > 1.001 * high[x]), np.maximum(-least, most), 0.0
            )
            incomplete = list(
                zip(request.conf, leverage.shares_of_others(blocks, outside).tolist(), strict=True)
            )
        return cls(
            request=request,
            blocks=blocks,
            weighing=weighing,
            places=judged,
            explaining=mask.explaining(blocks, places),
            low=low,
            high=high,
            lonely=lonely,
            categories=spec.indicators_of,
            learnt=frozenset(places.fitted),
            products=frozenset(i for each in places.products for i in each),
            incomplete=incomplete,
        )

    @cached_property
    def together(self) -> list[int]:
        """The terms that are judged as one: none of them is a combination of the others."""
        if self.few:
            return self.explaining
        chosen = self.explaining + self._weighed
        return [chosen[i] for i in independent(self.blocks.cov[np.ix_(chosen, chosen)])]

    @cached_property
    def few(self) -> bool:
        """Whether there are so few rows for the terms that a high leverage in all of them means nothing."""
        terms = len(self.explaining) + len(self._weighed)
        return leverage.from_share(REFUSED, terms, self.blocks.n) > ALONE

    @property
    def _weighed(self) -> list[int]:
        return [i for i in self.places if i >= self.blocks.p]

    @property
    def x(self) -> list[int]:
        """The conf columns, where these are judged."""
        return (
            []
            if self.weighing == "none"
            else list(range(self.blocks.p, self.blocks.p + self.blocks.q))
        )

    @cached_property
    def shares(self) -> Array:
        """The largest share of a single row in each column."""
        return leverage.shares(self.blocks, self.low, self.high)

    @property
    def heavy(self) -> frozenset[int]:
        """The products of which a single row makes up much."""
        return frozenset(i for i in self.products if self.shares[i] > HEAVY)

    @property
    def names(self) -> list[str]:
        return [*self.request.features, *self.request.conf]

    def row(self, farthest: Array | None) -> Array | None:
        """The row that has been found farthest apart, from the mean in every term; None where none needs a look."""
        if farthest is None or not len(farthest):
            return None
        found = np.zeros(self.blocks.p + self.blocks.q)
        found[self.places] = farthest[:-1] - self.blocks.mean[self.places]
        return found

    def limits(self, share: float) -> list[tuple[list[int], float]]:
        """Terms that are judged as one, and the leverage in them that stands for a share."""
        if self.few:
            return [(self.together, ALONE)]
        plain = [i for i in self.together if i not in self.learnt]
        found = [(plain, leverage.from_share(share, len(plain), self.blocks.n))]
        return [(self.together, ALONE), *found] if self.learnt else found

    def apart(self, share: float, row: Array | None) -> list[int]:
        """The terms in which a row stands apart by more than a share, taken together; none if it does not."""
        if row is None:
            return []
        for terms, limit in self.limits(share):
            if leverage.leverage(self.blocks, terms, row) > limit:
                return leverage.involved(self.blocks, terms, row, limit)
        return []

    def beyond(self, share: float, of: Sequence[int]) -> list[str]:
        """The columns in which a row by itself has such a share."""
        return [self.names[i] for i in of if self.shares[i] > share]

    def lacking(self, share: float) -> list[str]:
        """The conf columns in which a row that lacks others would have such a share."""
        return [name for name, found in self.incomplete if found > share]


def levers(judged: Judged) -> list[float] | None:
    """What the leverage of a row is computed with: the limit, then axis by axis its weights and where it begins.

    None where the farthest values show that no row can reach the limit, so that none needs to be looked at.
    """
    blocks, terms, places = judged.blocks, judged.together, judged.places
    limit = min(limit for _, limit in judged.limits(WARNED))
    if leverage.largest(blocks, terms, judged.low, judged.high, judged.categories) <= limit:
        return None
    axes = leverage.axes(blocks, terms)[np.ix_(places, places)]
    begins = axes @ blocks.mean[places]
    return [limit - 1 / blocks.n, *np.column_stack([axes, begins]).ravel().tolist()]


def refuse(judged: Judged, farthest: Array | None) -> None:
    """Refuses a row that stands apart in one column, or (``farthest``) in several together.

    Its leverage is 1/n + d²/Σd² in one column, 1 for the only row of a level; in several columns it is no less.
    """
    request = judged.request
    found = [*judged.beyond(REFUSED, judged.explaining), *judged.lonely]
    if found:
        raise request.refuse(
            f"a single row stands apart in nonconf column {listed(found)}{request.where}, so that its masked values "
            "would be near its originals; merge rare levels or cut extreme values in a SELECT, leave such rows out, or "
            "leave the column out of nonconf."
        )
    found = judged.beyond(REFUSED, judged.x) if judged.weighing != "warned" else []
    if found:
        raise request.refuse(
            f"a single row makes up more than {_percent(REFUSED)} of the variance of conf column {listed(found)}"
            f"{request.where}, so that the release would tell its size to about a tenth; {_REMEDIES}."
        )
    found = judged.lacking(REFUSED)
    if found:
        said = (
            _LACKING.format(_percent(REFUSED))
            .replace("{columns}", listed(found))
            .replace("{groups}", request.where)
        )
        raise request.refuse(f"{said}; {_REMEDIES}.")
    apart = judged.apart(REFUSED, judged.row(farthest))
    if apart:
        raise request.refuse(_apart(judged, apart))


def warn(judged: Judged, farthest: Array | None) -> None:
    """Warns of a row that outweighs all others, though not so much that it is refused."""
    request = judged.request
    found = judged.beyond(WARNED, judged.explaining)
    if found:
        _say(
            request,
            found,
            "a single row weighs more than all others in nonconf column {columns}{groups}, so that more than half of "
            "its masked values is its own; merge rare levels, cut extreme values in a SELECT, or leave the column out "
            "of nonconf.",
        )
    dominated = judged.beyond(WARNED, judged.x)
    if dominated:
        anew = " values are drawn anew, but" if judged.weighing == "warned" else ""
        _say(
            request,
            dominated,
            f"a single row makes up more than {_percent(WARNED)} of the variance of conf column {{columns}}{{groups}}:"
            f"{anew} who knows that there is such a row can tell its size from the release; "
            f"{'cut extreme values in a SELECT (top coding)' if anew else _REMEDIES}.",
        )
    lacking = judged.lacking(WARNED)
    if lacking:
        _say(request, lacking, f"{_LACKING.format(_percent(WARNED))}; {_REMEDIES}.")
    apart = judged.apart(WARNED, judged.row(farthest))
    if not found and not dominated and apart:
        names = listed(judged.names[i] for i in apart)
        _say(
            request,
            [""],
            f"a single row weighs more than all others by {names} taken together{{groups}}: what is released tells "
            "much of how these columns differ in it; leave the row out, correct it in a SELECT, or leave one of "
            "these columns out.",
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _apart(judged: Judged, found: list[int]) -> str:
    names, where = listed(judged.names[i] for i in found), judged.request.where
    if all(i < judged.blocks.p for i in found):
        return (
            f"a single row stands apart in nonconf by {names} taken together{where}, so that its masked values would "
            "be near its originals; leave the row out, correct it in a SELECT, or leave one of these columns out of "
            "nonconf."
        )
    return (
        f"a single row stands apart by {names} taken together{where}, so that noise would leave it out and the release "
        f"tell how these columns differ in it; correct the row, {_REMEDIES}."
    )


def _say(request: Request, columns: Sequence[str], sentence: str) -> None:
    for name in columns:
        notes.add(request.note(sentence, name, "", 0.0))
