"""What several masks promise and what they do not, in the words that users read."""

from __future__ import annotations

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise

_MOMENTS = (
    "means, variances, covariances and correlations of all conf and nonconf columns are those of the original, to "
    "rounding"
)
_ANALYSES = Guarantee(
    Promise.LINEAR_ANALYSES,
    "every linear regression, principal component and canonical correlation on these columns comes out the same",
)
EXACT = (
    Guarantee(Promise.MOMENTS, f"{_MOMENTS}, over the rows where every conf column is present"),
    _ANALYSES,
)
EXACT_WITHOUT_NULL = (
    Guarantee(Promise.MOMENTS, f"{_MOMENTS}; NULL in conf or nonconf is refused"),
    _ANALYSES,
)
APPROXIMATE = (
    Guarantee(
        Promise.MOMENTS_ON_AVERAGE,
        "means, variances and covariances are kept on average; they differ by sampling error, less for more rows",
    ),
)
NO_GAIN = (
    Guarantee(
        Promise.NO_GAIN,
        "given nonconf, the masked values tell nothing more about conf by any linear prediction",
    ),
)
SHAPE = Loss(
    LossKind.DISTRIBUTION,
    "marginal distributions change: quantiles, skewness, extremes and signs are not those of the original",
)
CURVES = Loss(
    LossKind.RELATIONS,
    "relations that are not linear are lost, and so are interactions between columns",
)
REPEATED = Loss(
    LossKind.SEVERAL_RELEASES,
    "safety of a view over changing data: exact sums before and after a change show what changed; release tables, and "
    "not after every change",
)
SMALL = Loss(
    LossKind.SMALL_TABLES,
    "safety of very small tables and groups: with fewer rows than some 13·(p + q + 1) by the digits of a value, exact "
    "sums over whole numbers can be solved for the numbers",
)
MANY_RELEASES = Loss(
    LossKind.SEVERAL_RELEASES,
    "safety of very many releases of the same rows: given nonconf each is exactly uncorrelated with conf, which is an "
    "equation about each conf column, and as many releases as rows would solve them",
)
UNUSED = Loss(LossKind.RELATIONS, "relations with columns outside conf, nonconf and strata")
UNUSED_WITHOUT_STRATA = Loss(
    LossKind.RELATIONS,
    "relations with columns outside conf and nonconf, and differences between groups",
)
ORDER = Loss(LossKind.ORDER, "the order of rows")
_TOLD = (
    "secrecy of extremes: exact variances tell how far out a row is that outweighs all others, to 29 % where it makes "
    "up 60 % of a variance and to 12 % where it makes up 80 %; of two rows that outweigh all others together, who "
    "knows one can tell the other"
)
EXTREMES = Loss(
    LossKind.EXTREMES, f"{_TOLD}; of a row of 60 % you are warned, one of 80 % is refused"
)
EXTREMES_REFUSED = Loss(LossKind.EXTREMES, f"{_TOLD}; a row of 80 % is refused")
EXTREMES_DRAWN_ANEW = Loss(
    LossKind.EXTREMES,
    "secrecy of extremes: no row stands out, as values are drawn anew, but variances still tell about how far out a "
    "row was that outweighed all others; from 60 % of a variance on you are warned",
)
EXTREMES_STAY = Loss(
    LossKind.EXTREMES,
    "secrecy of extremes: an extreme value stays extreme, and shows to within √level standard deviations; a row that "
    "makes up 60 % of a variance is warned of, one of 80 % refused",
)
LINEAR_LOSSES = (SHAPE, CURVES, UNUSED)
EXACT_LOSSES = (*LINEAR_LOSSES, EXTREMES, SMALL, REPEATED)
RANKS = Guarantee(
    Promise.RANKS,
    "rank correlations among conf, and of conf with nonconf, to a few thousandths, or a warning: relations that rise "
    "or fall throughout keep their direction and strength",
)
NO_GAIN_IN_RANKS = Guarantee(
    Promise.NO_GAIN_IN_RANKS,
    "given the ranks of nonconf, masked scores are exactly uncorrelated with the scores of conf",
)
CURVES_BEYOND_RANKS = Loss(
    LossKind.RELATIONS,
    "relations that turn round (up and down again) are lost, and so are interactions between columns; "
    "relationships() tells which there are",
)
VALUES_RELEASED = Loss(
    LossKind.EXTREMES,
    "secrecy of single values and of extremes, where values are shuffled: each is released, beside another row; an "
    "extreme one may tell whose it is, and a row that comes or goes between two releases shows its value",
)
REORDERED = Guarantee(
    Promise.VALUES,
    "every conf column has exactly its original values, reordered: its mean, quantiles and extremes too",
)
IN_RANGE = Guarantee(Promise.RANGE, "no masked value lies outside the range of the originals")
