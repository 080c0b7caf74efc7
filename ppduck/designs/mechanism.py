"""The plan of a randomizing mask: every value is kept or replaced by a draw that belongs to its row.

A draw is a function of the secret, the row's key, the column, its value and the design, and of
nothing else: a row keeps its published value while other rows and columns change, and after an
upgrade of DuckDB. (Noise of the linear masks must change with the table, because shared noise can
be subtracted; a kept answer cannot.) Two designs have independent draws. Were they shared, then of
two binary answers with p = 0.9 and p = 0.6 that differ, the first would be the true one for certain.
But one design has one draw, however it is spelt, since a vote over several would tell the answer:
names count as DuckDB compares them, levels as a set, probabilities as numbers (``Attribute.canonical``),
keys as values (``ppduck.stages.keys``). A matrix that is made invariant has draws that go by the matrix
that it was made from, so that shares which move a little move few answers.

The draw is the first 32 bits of AES-128(k, key ‖ t + j) as a little-endian number, with k the first
16 bytes of SHA-256("ppduck draws 2\\0" ‖ secret), key and t + j little-endian numbers of 64 bits, t
the first 62 bits of the SHA-256 of the design's text, and j the place of the value among the levels.
A draw below p·2³² keeps the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ppduck.designs import drawing
from ppduck.designs.design import Attribute
from ppduck.designs.first_look import CHECK, LookSpec
from ppduck.designs.randomization import Randomization
from ppduck.errors import Faults, quoted
from ppduck.kernels.noise import tweak_of
from ppduck.query import tree as sql
from ppduck.runtime.key_check import Uniqueness
from ppduck.runtime.noise import DRAWS, draw_function
from ppduck.stages import aggregates, keys, release_identity
from ppduck.stages.key_look import keys_seen
from ppduck.stages.masking import KEY, LOOK, SEEN, SOURCE
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Stage, Totals
from ppduck.values import folded

_HALVES = 2
_ROOM = 2  # bits above a tweak, so that the place of a level can be added to it
_DRAWN = "_pp_drawn"
_LOOKED_AT = "_pp_looked_at"  # whether a row's key is looked at
_CHECKED = "_pp_checked"  # what the first look gives: 0, or an error


class Mechanism:
    """Plans one call."""

    def __init__(self, randomization: Randomization) -> None:
        self.of = randomization
        self.call, self.key, self.source = (
            randomization.call,
            randomization.key,
            randomization.source,
        )
        self.key_columns = [sql.column(column.name) for column in self.key]
        self.null_is_level = self.call.words.null_is_level
        self.randomized = [
            attribute for attribute in randomization.attributes if not attribute.is_identity
        ]
        self.draw_designs = {attribute.name: attribute for attribute in randomization.draw_designs}
        # of a value among its levels
        self.places = [f"_pp_place{i}" for i in range(len(self.randomized))]
        # two to a word
        self.draws = [f"_pp_draws{i}" for i in range(-(-len(self.randomized) // _HALVES))]

    def plan(self) -> Plan:
        """The stages; where there is a key, or a share that must be as it was, the first look too."""
        looks = bool(self.key or self.of.counts)
        source = Rows if self.key or self.source.has_rowid else Sorted  # equal rows are numbered
        return Plan(
            (
                source(SOURCE, not self.source.repeatable, self._source()),
                *(self._look() if looks else ()),
                Rows(_DRAWN, False, self._drawn(looks)),
            ),
            Rows("_pp_answer", False, self._projection()),
        )

    def _placed(self) -> Iterator[tuple[Attribute, str]]:
        """Each randomized column, and what the place of its value is called."""
        return zip(self.randomized, self.places, strict=True)

    def _source(self) -> sql.Expr:
        places = [
            sql.named(drawing.place(a, null_is_level=self.null_is_level), name)
            for a, name in self._placed()
        ]
        columns = [sql.star("_pp_row"), sql.named(self._key(), KEY), *places]
        if self._looks_at_some:
            columns.append(sql.named(self._looked_at(), _LOOKED_AT))
        return sql.query(columns, sql.source(self.source.sql, "_pp_row"))

    @property
    def _looks_at_some(self) -> bool:
        return bool(self.key) and self.of.one_key_in > 1

    def _looked_at(self) -> sql.Expr:
        """Of a large table, whether a row is looked at: some keys with all of their rows, and some rows."""
        row = sql.column("rowid" if self.source.has_rowid else "_pp_row")
        parts = [
            sql.equal(exp.Mod(this=value, expression=sql.number(self.of.one_key_in)), sql.number(0))
            for value in (keys.told_apart(self.key_columns), keys.told_apart([row]))
        ]
        return exp.or_(*parts)

    def _key(self) -> sql.Expr:
        """What identifies a row: its key, its number in its table, or its content and which of equal rows it is."""
        if self.key:
            return keys.key(self.key)
        if self.source.has_rowid:
            return sql.column("rowid")
        content = keys.content(self.source.columns)
        return sql.call("xor", content, sql.over(sql.call("row_number"), by=[content]))

    def _look(self) -> list[Stage]:
        """Checks the keys, and that the shares of levels are those for which a matrix was made invariant."""
        planned = [(name, self.of.counts.get(a.name, [])) for a, name in self._placed()]
        counts = [
            sql.call("count_if", sql.equal(sql.column(place), sql.number(j)))
            for place, expected in planned
            for j in range(len(expected))
        ]
        figures = [
            *keys_seen(
                self.key_columns,
                keys.told_apart(self.key_columns) if self.key else None,
                Uniqueness.EVERY,
                looked_at=sql.column(_LOOKED_AT) if self._looks_at_some else None,
            ),
            aggregates.counts("_pp_counts", counts),
        ]
        spec = LookSpec(
            self.of.function,
            self.source.label,
            tuple(column.name for column in self.key),
            tuple(count for _, expected in planned for count in expected),
        )
        checked = sql.named(CHECK.in_sql(spec, aggregates.told(figures)), _CHECKED)
        return [
            Totals(SEEN, False, [], figures, sql.table(SOURCE)),
            Groups(LOOK, True, sql.query([checked], sql.table(SEEN))),
        ]

    def _drawn(self, checked: bool) -> sql.Expr:
        """The source with a draw for every randomized column, two of them to a word."""
        function = draw_function(seeded=self.call.seed is not None)
        zero = sql.number(0)
        key = sql.column(KEY)
        if checked:  # which is 0, and is added because DuckDB does not run what nothing reads
            key = exp.Add(this=key, expression=sql.column(_CHECKED))
        tweaks: list[sql.Expr] = [
            # Of a row without value any draw will do.
            exp.Add(
                this=sql.number(self._tweak(attribute)),
                expression=sql.call("coalesce", sql.column(place), zero),
            )
            for attribute, place in self._placed()
        ]
        if len(tweaks) % _HALVES:
            tweaks.append(sql.cast(zero, "BIGINT"))
        words = [
            sql.named(
                sql.call(function, key.copy(), *tweaks[_HALVES * i : _HALVES * (i + 1)]), name
            )
            for i, name in enumerate(self.draws)
        ]
        rows = sql.table(SOURCE)
        return sql.query(
            [sql.star(SOURCE), *words], rows.cross(sql.table(LOOK)) if checked else rows
        )

    def _tweak(self, attribute: Attribute) -> int:
        """Two designs never share draws, and one design has the same draws beside whatever other columns."""
        own = self.draw_designs[attribute.name]
        by_number = self.source.has_rowid and not self.key
        context = {
            "column": folded(own.name),
            "levels": own.levels,
            "p": own.p,
            "matrix": own.rows,
            "invariant": self.call.invariant,
            "seed": self.call.seed,
            "rows of": self.of.table if by_number else None,
        }
        return tweak_of(release_identity.written({"randomized": context}), 0) >> _ROOM

    def _projection(self) -> sql.Expr:
        replace = {}
        for i, (attribute, place) in enumerate(self._placed()):
            draw = drawing.half(sql.column(self.draws[i // _HALVES]), i % _HALVES)
            stranger = sql.text(self._stranger(attribute))
            replace[attribute.name] = drawing.published(
                attribute, sql.column(place), draw, stranger, null_is_level=self.null_is_level
            )
        looked = [_LOOKED_AT] if self._looks_at_some else []
        added = [KEY, *looked, *self.places, *self.draws, *self.of.drop]
        return sql.query([sql.star(_DRAWN, added, replace)], sql.table(_DRAWN))

    def _stranger(self, attribute: Attribute) -> str:
        return str(
            Faults(self.of.function, self.source.label).refuse(
                f"column {quoted(attribute.name)} holds a value that is none of its {len(attribute.levels or ())} "
                "levels. Give the whole domain in levels, or, if the level is new since the call was planned, run it "
                "again, after a commit if it is part of an open transaction."
            )
        )


UDFS = (CHECK, *DRAWS)
