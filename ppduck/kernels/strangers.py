"""Whether people are others than those of a table, by how many of them have what only one person of the table has.

Of the n people of a table f_r combinations of values occur r times. Somebody else of the same kind has one that occurs
r times with probability (r + 1) f_{r+1}/n (Good 1953): one that nobody has as likely as f₁, one that one person has as
2 f₂. So of others who have either, a share ρ = 2 f₂/(f₁ + 2 f₂) has the latter, and of the same people all have. Of
Poisson counts, for which E[λ 1(X = r)] = (r + 1) P(X = r + 1), the estimates of both miss (1 - ρ) M₁ - ρ M₀ with a
squared error of (4 f₂ + 6 f₃)(1 - ρ)² + 4 ρ (1 - ρ) f₂ + ρ² (f₁ + 2 f₂) over n².

What occurs more often proves nothing, and in a table of few values that is next to all. There a key that both have can
tell, if people have all values of the one who has their key more often than those of whoever stands a few places
behind: keys that were numbered anew, in tables that are sorted or where places alternate, agree with both alike.
"""

from __future__ import annotations

from math import sqrt

from ppduck.frozen import frozen

ERRORS = 5.0  # standard errors, and so many people beyond them, as counts are small
LEAST = 3.0
SHARE = 0.01  # of the others; fewer move no figure by more than a point in a hundred
PLACES = 12  # how far behind is looked


@frozen
class Others:
    """How often combinations of ``people`` occur, and which ``others`` have.

    ``same`` have one that occurs once, ``unseen`` one that nobody has, and ``squares`` sums up, over the combinations
    of both, the squares of how many have the same one. Of those who share a key, ``kept`` have all values of its
    owner, and ``beside`` those of somebody who stands near.
    """

    people: int
    others: int
    once: int
    twice: int
    thrice: int
    same: int
    unseen: int
    squares: int
    kept: int
    beside: int


def expected(counts: Others) -> float:
    """How many have what only one person has, if all are other people."""
    rho = 2 * counts.twice / max(counts.once + 2 * counts.twice, 1)
    return rho * (counts.same + counts.unseen)


def variance(counts: Others) -> float:
    """Of ``same`` less what is expected; as if there were one combination more that occurs twice."""
    once, twice, thrice = counts.once, counts.twice + 1, counts.thrice
    rho = 2 * twice / (once + 2 * twice)
    missed = (4 * twice + 6 * thrice) * (1 - rho) ** 2
    missed += 4 * rho * (1 - rho) * twice + rho**2 * (once + 2 * twice)
    drawn = _alike(counts) * (counts.same + counts.unseen) * rho * (1 - rho)
    return drawn + (counts.others / max(counts.people, 1)) ** 2 * missed


def _alike(counts: Others) -> float:
    """How many come at once: one, but where people are listed several times, as a bootstrap does."""
    return counts.squares / max(counts.same + counts.unseen, 1)


def by_values(counts: Others) -> bool:
    """Whether more have what only one person has than other people would."""
    excess = counts.same - expected(counts)
    if excess <= ERRORS * sqrt(variance(counts)) + LEAST * _alike(counts):
        return False
    # Of the same people only those show who have something of their own, and others would, too.
    shows = counts.once**2 / (counts.once + 2 * counts.twice) / counts.people
    return excess > SHARE * counts.others * shows


def by_keys(counts: Others) -> bool:
    """Whether keys are those of the same people: all values agree, and not as near keys' do."""
    excess = counts.kept - counts.beside
    error = sqrt(2 * (counts.beside + 1))
    return excess > ERRORS * error + LEAST and excess > SHARE * counts.others
