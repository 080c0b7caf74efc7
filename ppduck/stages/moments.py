"""The moments of a mask's terms, over the rows in which every confidential column is present."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from ppduck.call.linear_mask import Weighing
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.query.aggregates import count_if
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.masking import LOOK, Masking
from ppduck.stages.noise import NOISY, noise_names
from ppduck.stages.plan import Totals
from ppduck.stages.terms import Terms

MOMENTS = "_pp_moments"


@frozen
class Measured:
    """What is summed: terms, the noise where the solve needs it, and what a kind of mask adds of its own."""

    masking: Masking
    terms: Terms
    rows: str  # the stage that has the values
    noise: bool  # whether moments of V are needed too
    weighing: Weighing  # how a row that dominates X is judged
    columns: Sequence[sql.Expr] = ()  # beside the deviations of each row
    also: Sequence[Aggregate] = field(default=())  # beside the moments

    @property
    def table(self) -> str:
        return NOISY if self.noise else self.rows

    def deviations(self, centres: str) -> list[sql.Expr]:
        """Every term measured from its centre."""
        terms, by_mean = self.terms, self.masking.call.on_null == "mean"
        found = []
        for i, (value, centre) in enumerate(zip(terms.values, terms.centres, strict=True)):
            deviation = sql.minus(value.copy(), sql.column(centre, centres))
            if by_mean and i < terms.p:
                deviation = sql.call("coalesce", deviation, sql.number(0.0))
            found.append(sql.named(deviation, terms.deviations[i]))
        return found

    def complete_rows(
        self, more: Sequence[sql.Expr] = (), where: sql.Expr | None = None
    ) -> sql.Expr:
        """The terms in the rows in which every confidential column is present."""
        masking, terms = self.masking, self.terms
        noise = [sql.column(name) for name in noise_names(masking)] if self.noise else []
        centres = [sql.column(name, LOOK) for name in terms.centres[terms.p :]]
        columns = [
            *(sql.named(value, alias) for alias, value in masking.groups),
            *self.deviations(LOOK),
            *self._bases(),
            *(each.copy() for each in self.columns),
            *noise,
            *centres,
            *more,
        ]
        complete = sql.present(sql.column(column.name) for column in masking.roles.conf)
        return sql.query(
            columns,
            sql.table(self.table).matched(sql.table(LOOK), masking.to_rows(self.table)),
            where=complete if where is None else exp.and_(complete, where),
        )

    def _bases(self) -> list[sql.Expr]:
        """Whether a row has the level of a category that has no indicator."""
        found = []
        for k, (name, levels) in enumerate(self.masking.categories):
            same = exp.EQ(
                this=sql.cast(sql.column(name), "VARCHAR"), expression=sql.text(levels[0])
            )
            found.append(sql.named(same, f"_pp_base{k}"))
        return found

    def judged(self, *, together: bool = False) -> list[str]:
        """The terms in which a row may stand apart; ``together``, those that are judged as one."""
        terms = self.terms
        with_x = self.weighing == "all" or (self.weighing != "none" and not together)
        s = terms.deviations[: terms.places.explaining if together else terms.p]
        return s + (terms.deviations[terms.p :] if with_x else [])

    @property
    def summed(self) -> list[str]:
        """[S, X, V] as ``Blocks`` reads them, V where the solve needs it."""
        return [*self.terms.deviations, *(noise_names(self.masking) if self.noise else ())]

    def moments(self) -> Totals:
        """``_pp_moments``: sums and products, and how far the rows of each group reach."""
        terms, masking = self.terms, self.masking
        values = [sql.column(name) for name in self.summed]
        judged = [sql.column(name) for name in self.judged()]
        bases = [count_if(sql.column(f"_pp_base{k}")) for k in range(len(masking.categories))]
        centres = [sql.call("any_value", sql.column(name)) for name in terms.centres[terms.p :]]
        found = [
            aggregates.rows("_pp_n"),
            aggregates.sums("_pp_sums", values),
            aggregates.products("_pp_products", values),
            aggregates.least("_pp_lows", judged),
            aggregates.most("_pp_highs", judged),
            aggregates.counts("_pp_base_rows", bases),
            aggregates.any_of("_pp_centres", centres),
            *self.also,
        ]
        rows = sql.derived(self.complete_rows(), "_pp_complete")
        return Totals(MOMENTS, True, masking.small_groups(), found, rows)


def told(masking: Masking) -> dict[str, sql.Expr]:
    """What Python is told of the moments, by the fields of ``Summed``."""
    names = ("n", "sums", "products", "lows", "highs", "base_rows", "centres")
    found = {name: sql.column(f"_pp_{name}", MOMENTS) for name in names}
    return {"group": masking.label(MOMENTS), **found}
