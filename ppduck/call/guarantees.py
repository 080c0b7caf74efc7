"""What a mask promises, and what it does not, as values: each with the sentence that users read.

Code asks for a promise (``function.promises(Promise.MOMENTS, call)``) or for the kind of a loss, never for a sentence
or a name.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from ppduck.frozen import frozen


class Promise(Enum):
    """What can be promised of a release."""

    MOMENTS = "means, variances and covariances exactly"
    LINEAR_ANALYSES = "every linear analysis comes out the same"
    MOMENTS_ON_AVERAGE = "means and covariances up to sampling error"
    SPREAD = "mean and variance of every column exactly"
    VALUES = "exactly the original values, reordered"
    DISTRIBUTION = "the distribution of every column, nearly"
    RANGE = "no value outside the original range"
    MEANS = "the mean of every column exactly"
    RANKS = "rank correlations, nearly"
    NEARBY = "no value far from its original"
    CURVES = "conditional means of any shape"
    CORRELATIONS_ON_AVERAGE = "correlations up to sampling error"
    NO_GAIN = "nothing more told by linear prediction"
    NO_GAIN_IN_RANKS = "nothing more told by scores"
    ALIKE_ROWS = "every row is like k - 1 others"
    DIVERSE_VALUES = "every group has l values"
    BOUND = "no more told than an epsilon allows"
    TRUTH = "less is said of a value, and nothing false"
    COMMON_LEVELS = "no level that few rows have"
    RECONSTRUCTION = "tables can be reconstructed"
    SHARES = "the expected share of every level"
    INTERVALS = "intervals between a person's dates exactly"
    EQUALITY = "equal values stay equal, and different ones different"
    KEYED = "the same row gets the same noise, however often it is read"


def always(call: Any) -> bool:
    return True


@frozen
class Guarantee:
    """A promise in the words that users read, and the calls for which it holds."""

    promise: Promise
    sentence: str
    when: Callable[[Any], bool] = always

    def __str__(self) -> str:
        return self.sentence


class LossKind(Enum):
    """What a release can lose: first of what is in the table, then of its secrecy."""

    MOMENTS = "means, variances, covariances and correlations"
    DISTRIBUTION = "the values of a column and their distribution"
    RELATIONS = "relations between columns"
    ORDER = "the order of rows"
    STABILITY = "the same values in a later release"
    EXTREMES = "secrecy of extremes"
    NEARNESS = "secrecy of values that stay near their originals, or are predicted"
    FREQUENCIES = "secrecy of how often a value occurs, and of which rows share it"
    GROUPS = "secrecy of what rows of a group have in common"
    SMALL_TABLES = "secrecy in small tables and groups"
    SEVERAL_RELEASES = "secrecy where the same rows are released more than once"
    PRESENCE = "secrecy of who and what is in the table"
    OTHER_COLUMNS = "protection by columns that are released as they are"
    OTHER_KNOWLEDGE = "protection from one who knows more, or looks otherwise"
    SEED = "protection by chance that nobody can repeat"


@frozen
class Loss:
    """What is not promised, in the words that users read, and the calls that lose it."""

    kind: LossKind
    sentence: str
    when: Callable[[Any], bool] = always

    def __str__(self) -> str:
        return self.sentence
