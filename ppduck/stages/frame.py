"""The frame of every linear mask: one statement, from statistics to small solve to projection.

S and X enter as deviations from a centre that the first look has found, V as normals that are a
function of the row's key, so that a second pass can generate them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from ppduck.call.linear_mask import LinearMask, Request, Span, Weighing, all_of_s
from ppduck.call.numeric_mask import by_own_name, parameters_of
from ppduck.call.parameters import Parameter
from ppduck.call.roles import Roles, assign, numeric
from ppduck.call.udf import Udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.query import aggregates, normals
from ppduck.query import tree as sql
from ppduck.runtime import noise
from ppduck.runtime import solve as solving
from ppduck.runtime.nearness import LIMITS
from ppduck.stages import keys, leverage, look, rounding
from ppduck.stages.look import Look
from ppduck.values import Array


def linear_mask(
    name: str,
    *,
    solve: Callable[[Blocks, Request], LinearForm],
    summary: str,
    reference: str,
    keeps: tuple[str, ...],
    loses: tuple[str, ...],
    parameters: tuple[Parameter, ...] = (),
    reads_s: bool = True,
    reads_x: Span = "all",
    reads_v: Span = "all",
    needs_noise: Callable[[dict[str, Any]], bool] = lambda given: True,
    check: Callable[[dict[str, Any], list[str]], list[str]] | None = None,
    frame: type[Frame] | None = None,
    without: tuple[str, ...] = (),
    permutes: Callable[[dict[str, Any]], bool] = lambda given: False,
    explaining: Callable[[Blocks], list[int]] = all_of_s,
    keeps_range: bool = False,
    asked: Callable[[dict[str, Any]], bool] = lambda given: False,
    remedy: str = "fewer columns in nonconf",
    staying: Callable[[Blocks, Request, LinearForm], Array] | None = None,
    weighs_x: Callable[[dict[str, Any]], Weighing] = lambda given: "all",
    exact: Callable[[dict[str, Any]], bool] = lambda given: True,
    udfs: tuple[Udf, ...] = (),
) -> LinearMask:
    """A mask ready to be registered. ``check`` looks at the mask's own parameters while planning.

    ``frame`` writes another statement than the plain one; ``without`` are common parameters that the
    mask does not have.
    """

    def plan(catalog: Catalog, given: dict[str, Any]) -> str:
        refuse_another_hash(name, catalog)
        roles = assign(name, catalog, given, uses_nonconf=reads_s)
        given = {name: by_own_name(value, roles) for name, value in given.items()}
        if check is not None:
            faults = check(given, [column.name for column in roles.conf])
            if faults:
                raise roles.faults(name, faults)
        written_by = frame or Frame
        return written_by(mask, roles, given, keep_noise=catalog.fits_in_memory(roles.source)).statement()

    mask = LinearMask(
        name,
        parameters_of(parameters, without),
        plan,
        summary,
        reference,
        reads_s=reads_s,
        keeps=keeps,
        loses=(*loses, LIMITS),
        permutes=permutes,
        keeps_range=keeps_range,
        asked=asked,
        remedy=remedy,
        solve=solve,
        reads_x=reads_x,
        reads_v=reads_v,
        needs_noise=needs_noise,
        explaining=explaining,
        staying=staying,
        weighs_x=weighs_x,
        exact=exact,
        udfs=(*solving.UDFS, *noise.WORDS, *udfs),
    )
    return mask


class Frame(Look):
    """Writes the statement of one call."""

    mask: LinearMask

    def __init__(self, mask: LinearMask, roles: Roles, given: dict[str, Any], *, keep_noise: bool) -> None:
        super().__init__(mask, roles, given)
        self.mask = mask
        self.keep_noise = keep_noise
        self.rows = "_pp_source"  # the table that has the values
        self.outputs = self.q  # a form may give more than the masked columns
        self.explaining = self.p  # the first terms, on which X may be regressed
        # Noise belongs to a column, not to its place in the list.
        in_order = [column.name for column in keys.in_order(roles.conf)]
        self.noise_of = [in_order.index(column.name) for column in roles.conf]
        self.words = [f"_pp_w{i}" for i in range(len(self._word_calls()))]
        self.noise = [f"_pp_v{j}" for j in range(self.q)]
        self.needs_noise = mask.needs_noise(given)
        self.weighs_x = mask.weighs_x(given)

    @property
    def deviations(self) -> list[str]:
        return [f"_pp_d{i}" for i in range(self.p + self.q)]

    def specification(self) -> str:
        """With whether moments are promised to the last digits, which rounding to a column's type would move."""
        exact = self.mask.exact(self.given) and not self.given.get("round")
        more = {"exact": exact, "explaining": self.explaining}
        return json.dumps(json.loads(super().specification()) | more, sort_keys=True)

    def statement(self) -> str:
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.roles.source.repeatable)
        statement.step("_pp_first", self._first_look(), materialized=True)
        # Two passes read the noise: kept between them where that is small, else generated again.
        statement.step("_pp_noisy", self._noisy(), materialized=self.needs_noise and self.keep_noise)
        self._solve(statement)
        return statement.finish(self._projection())

    def _solve(self, statement: sql.Statement) -> None:
        """Steps from the rows with their noise to the form's coefficients."""
        statement.step("_pp_moments", self._moments(), materialized=True)
        if self._may_stand_apart:
            statement.step("_pp_weights", self._weights(), materialized=True)
            terms = self._judged(together=True)
            statement.step("_pp_levers", leverage.levers(len(terms), self.by), materialized=True)
            farthest = leverage.farthest(self._complete_rows(), terms, self.by)
            statement.step("_pp_apart", farthest, materialized=True)
        statement.step("_pp_solved", self._solved(), materialized=True)
        statement.step("_pp_form", self._form(), materialized=True)

    def _looked(self) -> list[sql.Expr]:
        """Of conf the smallest and largest values, the means, and whether all are whole: what masking may change."""
        numbers = [numeric(column) for column in self.roles.conf]
        ends = [sql.call(end, number.copy()) for end in ("min", "max") for number in numbers]
        mean = [sql.call("avg", number.copy()) for number in numbers]
        whole = [
            sql.number(1.0)
            if column.is_integer
            else sql.double(
                sql.call("bool_and", exp.EQ(this=number.copy(), expression=sql.call("trunc", number.copy())))
            )
            for column, number in zip(self.roles.conf, numbers, strict=True)
        ]
        return [sql.named(sql.array([*ends, *mean, *whole], "DOUBLE"), "_pp_looked")]

    def _word_calls(self) -> list[sql.Expr]:
        key, tweak = sql.column("_pp_key"), sql.column("_pp_tweak")
        return normals.word_calls(self.q, key, tweak, seeded="seed" in self.given)

    def _noisy(self) -> str:
        """The source with its noise: words from the keyed function, normals from the words."""
        words = [sql.named(call, name) for call, name in zip(self._word_calls(), self.words, strict=True)]
        source = sql.joined(f'"{self.rows}"', '"_pp_first"', self._matching(self.rows))
        worded = sql.select([sql.star(self.rows), *words], source)
        found = normals.normals(self.q, [sql.column(name) for name in self.words])
        noise = [sql.named(found[i], name) for i, name in zip(self.noise_of, self.noise, strict=True)]
        return sql.select([sql.star("_pp_worded", self.words), *noise], f'({worded}) AS "_pp_worded"')

    def _deviations(self, centres: str) -> list[sql.Expr]:
        """Every used column measured from its centre."""
        result = []
        for i, (value, centre) in enumerate(zip(self.values, self.centres, strict=True)):
            deviation = sql.minus(value.copy(), sql.column(centre, centres))
            if self.on_null == "mean" and i < self.p:
                deviation = sql.call("coalesce", deviation, sql.number(0.0))
            result.append(sql.named(deviation, self.deviations[i]))
        return result

    def _moments(self) -> str:
        """Sums and products over the rows in which every confidential column is present."""
        values = [sql.column(name) for name in [*self.deviations, *(self.noise if self.needs_noise else ())]]
        group = [sql.column(alias) for alias in self.by]
        columns = [
            sql.named(aggregates.rows(), "_pp_n"),
            sql.named(aggregates.sums(values), "_pp_sums"),
            sql.named(aggregates.products(values), "_pp_products"),
            sql.named(self._alone(), "_pp_alone"),
        ]
        return sql.select([*group, *columns, *self._more_moments()], f"({self._complete_rows()})", group=group)

    def _alone(self) -> sql.Expr:
        """Of each judged term its smallest and largest value, how many rows have each first level, where conf is."""
        farthest = [sql.call(end, sql.column(name)) for end in ("min", "max") for name in self._judged()]
        bases = [self._count_if(sql.column(f"_pp_base{k}")) for k in range(len(self.categories))]
        centres = [sql.call("any_value", sql.column(name)) for name in self.centres[self.p :]]
        return sql.array([*farthest, *bases, *centres], "DOUBLE")

    def _judged(self, *, together: bool = False) -> list[str]:
        """The terms in which a row may stand apart; ``together``, those that are judged as one."""
        with_x = self.weighs_x == "all" or (self.weighs_x != "none" and not together)
        s = self.deviations[: self.explaining if together else self.p]
        return s + (self.deviations[self.p :] if with_x else [])

    def _complete_rows(self, more: Sequence[sql.Expr] = (), where: sql.Expr | None = None) -> str:
        """The terms of the form in the rows in which every confidential column is present."""
        noise = [sql.column(name) for name in self.noise] if self.needs_noise else []
        centres = [sql.column(name, "_pp_first") for name in self.centres[self.p :]]
        columns = [*self._groups(), *self._deviations("_pp_first"), *self._beside_deviations(), *noise, *centres, *more]
        complete = sql.present(sql.column(c.name) for c in self.roles.conf)
        table = "_pp_noisy" if self.needs_noise else self.rows
        source = sql.joined(f'"{table}"', '"_pp_first"', self._matching(table))
        return sql.select(columns, source, where=complete if where is None else exp.and_(complete, where))

    def _beside_deviations(self) -> list[sql.Expr]:
        """What else of each row the moments are taken of: whether it has the level that has no indicator."""
        found = []
        for k, (name, levels) in enumerate(self.categories):
            same = exp.EQ(this=sql.cast(sql.column(name), "VARCHAR"), expression=sql.text(levels[0]))
            found.append(sql.named(same, f"_pp_base{k}"))
        return found

    def _more_moments(self) -> list[sql.Expr]:
        """What a solve reads beside the moments: statistics of ranks."""
        return [sql.named(sql.array((), "DOUBLE"), "_pp_ranks")]

    def _sampled(self) -> tuple[str, sql.Expr]:
        """A FROM clause with the moments, and the sample of rows that a solve reads beside them."""
        return '"_pp_moments"', sql.array((), "DOUBLE")

    @property
    def _may_stand_apart(self) -> bool:
        """Whether there are several terms that may set a row apart together; of one, the moments tell enough."""
        return len(self._judged(together=True)) > 1

    def _weights(self) -> str:
        """What leverage is computed with, for each group in which the moments do not rule out that it is near 1."""
        group: list[sql.Expr] = [sql.column(alias) for alias in self.by]
        weights = sql.call(solving.LEVERS, *self._told(), sql.column("_pp_alone"))
        return sql.select([*group, sql.named(weights, "_pp_w")], '"_pp_moments"')

    def _told(self) -> list[sql.Expr]:
        """What Python is told of a group: names, and moments."""
        moments = [sql.column(name) for name in ("_pp_n", "_pp_sums", "_pp_products")]
        return [sql.text(self.specification()), self._label(self.by), *moments]

    def _solved(self) -> str:
        source, sample = self._sampled()
        farthest = sql.array((), "DOUBLE")
        if self._may_stand_apart:
            on = [(sql.column(alias, "_pp_moments"), sql.column(f"_pp_a{i}")) for i, alias in enumerate(self.by)]
            source, farthest = sql.joined(source, '"_pp_apart"', on, outer=True), sql.column("_pp_farthest")
        # What the first look has found, under other names for its groups.
        groups = [sql.named(sql.column(alias), f"_pp_f{i}") for i, alias in enumerate(self.by)]
        looked = sql.select([*groups, sql.column("_pp_looked")], '"_pp_first"')
        on = [(sql.column(alias, "_pp_moments"), sql.column(f"_pp_f{i}")) for i, alias in enumerate(self.by)]
        source = sql.joined(source, f'({looked}) AS "_pp_look"', on)
        more = [sql.column("_pp_alone"), farthest, sql.column("_pp_ranks"), sample]
        more += [sql.column("_pp_looked"), sql.call(look.QUERY)]
        group = [sql.column(alias, "_pp_moments") for alias in self.by]
        return sql.select([*group, sql.named(sql.call(solving.SOLVE, *self._told(), *more), "_pp_c")], source)

    def _form(self) -> str:
        """The solve's list as plain columns, together with every column's centre."""
        on = [(sql.column(alias, "_pp_solved"), sql.column(alias, "_pp_first")) for alias in self.by]
        coefficients = [
            sql.named(sql.call("list_extract", sql.column("_pp_c"), sql.number(i)), name)
            for i, name in enumerate(self._coefficients(), start=1)
        ]
        groups = [sql.column(alias, "_pp_first") for alias in self.by]
        centres = [sql.column(name, "_pp_first") for name in self.centres]
        return sql.select([*groups, *centres, *coefficients], sql.joined('"_pp_solved"', '"_pp_first"', on))

    def _coefficients(self) -> list[str]:
        """Names of the coefficients, column by column, as ``flatten`` lays them out."""
        spans = {"none": 0, "own": 1, "all": self.q}
        terms = 1 + self.p + spans[self.mask.reads_x] + spans[self.mask.reads_v]
        return [f"_pp_c{i}" for i in range(self.outputs * terms)]

    def _measured(self) -> str:
        """Every row beside all that its masked values are made of."""
        form = [sql.column(name, "_pp_form") for name in [*self.centres[self.p :], *self._coefficients()]]
        return sql.select(
            [sql.star("_pp_noisy"), *self._deviations("_pp_form"), *form],
            sql.joined('"_pp_noisy"', '"_pp_form"', self._matching("_pp_noisy", "_pp_form")),
        )

    def _outputs(self) -> list[sql.Expr]:
        """The form, column by column; the centre comes last, so that a large one costs digits once."""
        s = [sql.column(name) for name in self.deviations[: self.p]]
        x = self._x_terms()
        v = [sql.column(name) for name in self.noise]
        found = []
        coefficients = iter(self._coefficients())
        for output in range(self.outputs):
            j = output % self.q
            terms = [*s, *_span(self.mask.reads_x, x, j), *_span(self.mask.reads_v, v, j)]
            intercept = sql.column(next(coefficients))
            parts = [sql.product(term, sql.column(next(coefficients))) for term in terms]
            found.append(sql.total([intercept, *parts, sql.column(self.centres[self.p + j])]))
        return found

    def _x_terms(self) -> list[sql.Expr]:
        """A row that lacks one conf column is masked in the others as if that one were average."""
        return [sql.call("coalesce", sql.column(name), sql.number(0.0)) for name in self.deviations[self.p :]]

    def _projection(self) -> str:
        replace = {}
        for column, output in zip(self.roles.conf, self._outputs(), strict=True):
            masked = rounding.rounded(output, column) if self.given.get("round") else output
            replace[column.name] = exp.Case().when(sql.column(column.name).is_(exp.null()).not_(), masked)
        added = ["_pp_key", *self.noise, *self.deviations, *self.centres[self.p :], *self._coefficients()]
        columns = sql.star("_pp_masked", [*added, *self.roles.drop], replace)
        return sql.select([columns], f'({self._measured()}) AS "_pp_masked"')


def _span(span: Span, terms: list[sql.Expr], own: int) -> list[sql.Expr]:
    return {"none": [], "own": [terms[own]], "all": terms}[span]
