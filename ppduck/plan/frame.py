"""The frame of every linear mask: one statement, from statistics to small solve to projection.

S and X enter as deviations from a centre that the first look has found, V as normals that are a
function of the row's key, so that a second pass can generate them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.plan import normals, release, rounding, statistics
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog
from ppduck.plan.linear import COMMON, COMMON_NAMES, LinearMask, Request, Span
from ppduck.plan.roles import Roles, assign, numeric
from ppduck.values import folded

CHECK, SOLVE = "ppduck_check", "ppduck_solve"


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
) -> LinearMask:
    """A mask ready to be registered. ``check`` looks at the mask's own parameters while planning.

    ``frame`` writes another statement than the plain one; ``without`` are common parameters that the
    mask does not have.
    """

    def plan(catalog: Catalog, given: dict[str, Any]) -> str:
        roles = assign(name, catalog, given, uses_nonconf=reads_s)
        given = {name: _by_own_name(value, roles) for name, value in given.items()}
        if check is not None:
            faults = check(given, [column.name for column in roles.conf])
            if faults:
                raise roles.faults(name, faults)
        written_by = frame or Frame
        return written_by(mask, roles, given, keep_noise=catalog.fits_in_memory(roles.source)).statement()

    # Mask-specific parameters stand behind tbl and conf, where a positional call would put them.
    shared = tuple(parameter for parameter in COMMON[2:] if parameter.name not in without)
    mask = LinearMask(
        name, COMMON[:2] + parameters + shared, plan, summary, reference,
        solve, reads_s, reads_x, reads_v, needs_noise, keeps, loses, permutes,
    )  # fmt: skip
    return mask


def _by_own_name(value: Any, roles: Roles) -> Any:
    """A {column: number} under the columns' own spelling, as DuckDB does not mind the case."""
    if not isinstance(value, dict):
        return value
    own = {folded(column.name): column.name for column in roles.conf}
    return {own.get(folded(name), name): part for name, part in value.items()}


class Frame:
    """Writes the statement of one call."""

    def __init__(self, mask: LinearMask, roles: Roles, given: dict[str, Any], *, keep_noise: bool) -> None:
        self.mask = mask
        self.roles = roles
        self.given = given
        self.keep_noise = keep_noise
        self.on_null = given.get("on_null", "error")
        # What the form is linear in. A frame may put other values in their place, or more beside them.
        self.labels = [feature.label for feature in roles.features]
        self.values = [feature.value for feature in roles.features] + [numeric(column) for column in roles.conf]
        self.rows = "_pp_source"  # the table that has them
        self.p, self.q = len(self.labels), len(roles.conf)
        self.outputs = self.q  # a form may give more than the masked columns
        self.by = [f"_pp_b{i}" for i in range(len(roles.by))]
        # Noise belongs to a column, not to its place in the list.
        in_order = sorted(column.name for column in roles.conf)
        self.noise_of = [in_order.index(column.name) for column in roles.conf]
        # Columns that must not be constant: the last ones of those that are measured.
        self.watched = [column.name for column in roles.conf]
        self.words = [f"_pp_w{i}" for i in range(len(self._word_calls()))]
        self.noise = [f"_pp_v{j}" for j in range(self.q)]
        self.needs_noise = mask.needs_noise(given)

    @property
    def centres(self) -> list[str]:
        return [f"_pp_m{i}" for i in range(self.p + self.q)]

    @property
    def deviations(self) -> list[str]:
        return [f"_pp_d{i}" for i in range(self.p + self.q)]

    def statement(self) -> str:
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.roles.source.repeatable)
        statement.step("_pp_first", self._first_look(), materialized=True)
        # Two passes read the noise: kept between them where that is small, else generated again.
        statement.step("_pp_noisy", self._noisy(), materialized=self.needs_noise and self.keep_noise)
        statement.step("_pp_moments", self._moments(), materialized=True)
        statement.step("_pp_solved", self._solved(), materialized=True)
        statement.step("_pp_form", self._form(), materialized=True)
        return statement.finish(self._projection())

    def specification(self) -> str:
        """What check and solve are told: names and parameters, never a value or the secret."""
        roles = self.roles
        own = {name: value for name, value in self.given.items() if name not in COMMON_NAMES}
        return json.dumps(
            {
                "function": self.mask.name,
                "table": roles.source.label,
                "conf": [column.name for column in roles.conf],
                "nonconf": roles.nonconf,
                "features": self.labels,
                "key": list(roles.key),
                "row": roles.source.row_type,
                "watched": self.watched,
                "measured": [f.label for f in roles.features if f.level is None] + [c.name for c in roles.conf],
                "categories": [name for name, _ in self.categories],
                "bases": [f"{name} = {levels[0]}" for name, levels in self.categories],
                "on_null": self.on_null,
                "parameters": own,
                "context": release.context(self.mask, roles, self.given),
            },
            sort_keys=True,
        )

    def _source(self, more: Sequence[sql.Expr] = ()) -> str:
        roles = self.roles
        # Beside the key stands what is masked and what it is masked by: rows that wrongly share a key must not share
        # noise, which their difference would be free of. The order in which columns are named must not show.
        used = sorted([*roles.nonconf, *(column.name for column in roles.conf), *roles.by])
        key = [*self._key(), *map(sql.column, used)]
        where = None
        if self.on_null == "drop":
            where = sql.present([sql.column(name) for name in roles.nonconf])
        # The key stands right behind the user's columns, where the first look checks what type the row has.
        columns = [sql.star("_pp_row"), sql.named(sql.call("hash", *key), "_pp_key"), *more]
        return sql.select(columns, f'{roles.source.sql} AS "_pp_row"', where=where)

    def _key(self) -> list[sql.Expr]:
        """What identifies a row beside its used columns: the key that is named, else its number in a table."""
        if self.roles.key:
            return [sql.column(name) for name in self.roles.key]
        return [sql.column("rowid")] if self.roles.source.has_rowid else []

    def _groups(self) -> list[sql.Expr]:
        return [sql.named(sql.column(name), alias) for name, alias in zip(self.roles.by, self.by, strict=True)]

    def _label(self, names: tuple[str, ...] | list[str]) -> sql.Expr:
        """'bank_no = 3' for messages; NULL where there are no groups."""
        if not names:
            return sql.cast(exp.null(), "VARCHAR")
        parts = [
            sql.call(
                "concat",
                sql.text(f"{name} = "),
                sql.call("coalesce", sql.cast(sql.column(column), "VARCHAR"), sql.text("NULL")),
            )
            for name, column in zip(self.roles.by, names, strict=True)
        ]
        return sql.call("concat_ws", sql.text(", "), *parts)

    def _first_look(self) -> str:
        """Checks every row and finds a centre; the checks answer with the tweak that all noise needs."""
        roles = self.roles
        raw = [sql.column(name) for name in roles.nonconf]
        conf = [sql.column(column.name) for column in roles.conf]
        numbers = [numeric(column) for column in roles.conf]
        measured = [f.value for f in roles.features if f.level is None] + numbers
        untyped = [*conf, *raw] if roles.source.columns is None else []
        keys = [sql.column(name) for name in roles.key]
        no_key = sql.present(keys)
        check = sql.call(
            CHECK,
            sql.text(self.specification()),
            self._label(roles.by),
            statistics.rows(),
            statistics.missing(raw),
            statistics.peaks(measured),
            statistics.constant(measured[len(measured) - len(self.watched) :]),
            self._unread(untyped),
            self._unseen(),
            self._count_if(exp.Not(this=exp.paren(no_key))) if no_key is not None else sql.number(0),
            self._distinct_keys(),
            sql.call("any_value", sql.call("typeof", sql.column("_pp_source"))),
            sql.cast(statistics.digest(sql.column("_pp_key")), "VARCHAR"),
        )
        group = [sql.column(name) for name in roles.by]
        columns = [*self._groups(), sql.named(check, "_pp_tweak"), *self._centres()]
        return sql.select(columns, '"_pp_source"', group=group)

    def _centres(self) -> list[sql.Expr]:
        return [
            sql.named(sql.call("coalesce", sql.call("avg", value.copy()), sql.number(0)), name)
            for value, name in zip(self.values, self.centres, strict=True)
        ]

    def _distinct_keys(self) -> sql.Expr:
        """About how many rows have a key of their own; row numbers are known to be unique."""
        if not self.roles.key and self.roles.source.has_rowid:
            return statistics.rows()
        key = sql.call("hash", *self._key()) if self.roles.key else sql.column("_pp_key")
        return sql.call("approx_count_distinct", key)

    def _unread(self, columns: list[sql.Expr]) -> sql.Expr:
        """Of columns whose type is not known: how many values are no numbers."""
        counts = [
            exp.Sub(
                this=sql.call("count", column.copy()),
                expression=sql.call("count", exp.TryCast(this=column.copy(), to=exp.DataType.build("DOUBLE"))),
            )
            for column in columns
        ]
        return sql.array(counts, "BIGINT")

    @staticmethod
    def _count_if(condition: sql.Expr) -> sql.Expr:
        return sql.cast(sql.call("count_if", condition), "BIGINT")

    def _unseen(self) -> sql.Expr:
        """How many rows have a level that planning did not see, for each category."""
        counts = [
            self._count_if(
                exp.Not(this=sql.cast(sql.column(name), "VARCHAR").isin(*(sql.text(level) for level in levels)))
                if levels
                else sql.column(name).is_(exp.null()).not_(),
            )
            for name, levels in self.roles.levels.items()
            if name in self.roles.nonconf
        ]
        return sql.array(counts, "BIGINT")

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

    def _matching(self, table: str, other: str = "_pp_first") -> list[tuple[sql.Expr, sql.Expr]]:
        """The join of a table that has the user's by columns with one that has ppduck's copies."""
        return [
            (sql.column(name, table), sql.column(alias, other))
            for name, alias in zip(self.roles.by, self.by, strict=True)
        ]

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
            sql.named(statistics.rows(), "_pp_n"),
            sql.named(statistics.sums(values), "_pp_sums"),
            sql.named(statistics.products(values), "_pp_products"),
            sql.named(self._alone(), "_pp_alone"),
        ]
        return sql.select([*group, *columns, *self._more_moments()], f"({self._complete_rows()})", group=group)

    def _alone(self) -> sql.Expr:
        """How far the farthest row is from the centre of each feature, and how many rows have each first level."""
        own = self.deviations[: len(self.roles.features)]
        farthest = [sql.call("max", sql.call("abs", sql.column(name))) for name in own]
        bases = [self._count_if(sql.column(f"_pp_base{k}")) for k in range(len(self.categories))]
        return sql.array([*farthest, *bases], "DOUBLE")

    def _complete_rows(self, more: Sequence[sql.Expr] = (), where: sql.Expr | None = None) -> str:
        """The terms of the form in the rows in which every confidential column is present."""
        noise = [sql.column(name) for name in self.noise] if self.needs_noise else []
        columns = [*self._groups(), *self._deviations("_pp_first"), *self._beside_deviations(), *noise, *more]
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

    @property
    def categories(self) -> list[tuple[str, list[str]]]:
        """The categories among the features, with their levels."""
        used = self.roles.nonconf
        return [(name, levels) for name, levels in self.roles.levels.items() if name in used]

    def _more_moments(self) -> list[sql.Expr]:
        """What a solve reads beside the moments: statistics of ranks."""
        return [sql.named(sql.array((), "DOUBLE"), "_pp_ranks")]

    def _sampled(self) -> tuple[str, sql.Expr]:
        """A FROM clause with the moments, and the sample of rows that a solve reads beside them."""
        return '"_pp_moments"', sql.array((), "DOUBLE")

    def _solved(self) -> str:
        source, sample = self._sampled()
        solve = sql.call(
            SOLVE,
            sql.text(self.specification()),
            self._label(self.by),
            sql.column("_pp_n"),
            sql.column("_pp_sums"),
            sql.column("_pp_products"),
            sql.column("_pp_alone"),
            sql.column("_pp_ranks"),
            sample,
        )
        group: list[sql.Expr] = [sql.column(alias) for alias in self.by]
        return sql.select([*group, sql.named(solve, "_pp_c")], source)

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
        # A row that lacks one conf column is masked in the others as if that one were average.
        x = [sql.call("coalesce", sql.column(name), sql.number(0.0)) for name in self.deviations[self.p :]]
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
