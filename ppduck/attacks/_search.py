"""The search of people among all records, which are read through a batch at a time and never held.

SQL carries what is sought as a number; the points themselves are kept here, as many as statements under way may need.
Each batch gives what it adds: of a question and a person how many records are nearer than the own one and how many as
near, or which are among the nearest so far. SQL adds up the former and takes the least of the latter, so that neither
the order of batches nor the number of threads shows.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppduck.attacks._control import ADMITTED
from ppduck.attacks._figures import rows_of
from ppduck.attacks._people import CONTROL, AttackSpec, People, Sides, told_people
from ppduck.call.udf import Udf, told_udf
from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.kernels.predicates import Predicates, dealt
from ppduck.kernels.seeking import TIE, Batch, Seekers, Space
from ppduck.pairs.one_to_one import MASKED, MATCHED, ORIGINAL
from ppduck.progress import Progress
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

NEAREST = 5  # records that are kept of each person's, where the nearest are asked for
_WIDTH = 6  # of what a batch adds: question, person, nearer, as near, distance, record
FOUND_WIDTH = 4 + 2 * NEAREST
_BATCH = 2_048
_FIRST = 4_096  # records by which it is bounded how far the nearest can be
_MOST_SEARCHES = 32
# questions of the release
BY_ALL, BY_TURNED, BY_KNOWN, TOP_ALL, TOP_KNOWN, TOP_CONF = range(6)
ASKED, SEARCHED, BOXED, BOXED_CONTROL = (
    "_pp_asked",
    "_pp_searched",
    "_pp_boxed",
    "_pp_boxed_control",
)
SINGLING_OUT, LINKABILITY, MEMBERSHIP = "singling_out", "linkability", "membership"

Flags = npt.NDArray[np.bool_]
_searches: OrderedDict[int, Search] = OrderedDict()
_lock = threading.Lock()
_numbers = itertools.count(1)


@frozen
class Asked(People):
    """People, and how many rows there are in the release and the original each, and in the control."""

    pairs: int
    others: int


class Counted:
    """People who ask how many records are nearer than their own, and how many as near."""

    def __init__(self, space: Space, people: Array, own: Array, pool: Array) -> None:
        mine = space.coordinates(people)
        limit = space.squared(mine, space.coordinates(own))
        # People at one point who look as far fare alike.
        points = np.column_stack([*mine, limit])
        _, first, self.same = np.unique(points, axis=0, return_index=True, return_inverse=True)
        self.same = self.same.reshape(-1)
        asked = np.arange(len(first))
        seekers = Seekers(space, people[first], limit[first])
        # Most who fail meet a nearer record among a few.
        beaten = np.zeros(len(first), dtype=bool)
        for start in range(0, len(pool), _BATCH):
            who, _, d2 = seekers.near(Batch(space, pool[start : start + _BATCH]))
            beaten[who[_nearer(d2, seekers.limit[who])]] = True
        self.beaten = beaten
        self.asked = asked[~beaten]
        self.seekers = Seekers(space, people[first[~beaten]], limit[first[~beaten]])

    def add(self, batch: Batch, records: Array) -> Array:
        who, _, d2 = self.seekers.near(batch)
        nearer = _nearer(d2, self.seekers.limit[who])
        size = len(self.asked)
        counts = [np.bincount(who[mask], minlength=size) for mask in (nearer, ~nearer)]
        some = np.flatnonzero(counts[0] + counts[1])
        none = np.full(len(some), np.nan)
        return np.column_stack([self.asked[some], counts[0][some], counts[1][some], none, none])

    def credits(self, found: Array) -> Array:
        """1/t of each person whose own record is one of t nearest, else 0, from what SQL has added up."""
        nearer, tied = self.beaten.astype(float), np.zeros(len(self.beaten))
        who = found[:, 0].astype(np.intp)
        nearer[who] += found[:, 1]
        tied[who] += found[:, 2]
        credit = np.divide(1.0, tied, out=np.zeros(len(tied)), where=(tied > 0) & (nearer == 0))
        return np.asarray(credit[self.same])


class Nearest:
    """People who ask for their k nearest records; those that are too far to be among them are passed over."""

    def __init__(self, space: Space, people: Array, pool: Array, k: int) -> None:
        self.k = k
        self.seekers = Seekers(space, people, np.full(len(people), np.inf))
        self._best = np.full((len(people), k, 2), np.inf)
        self._turn = threading.Lock()
        limit = np.full((len(people), k), np.inf)
        for start in range(0, len(people), _BATCH):
            part = slice(start, start + _BATCH)
            limit[part] = _least(space, people[part], pool[:_FIRST], k)
        self.seekers.look(limit[:, -1])

    def add(self, batch: Batch, records: Array) -> Array:
        who, which, d2 = self.seekers.near(batch)
        news = np.column_stack([d2, records[which]])
        with self._turn:
            kept = self._entered(who, news)
        zero = np.zeros(kept.sum())
        return np.column_stack([who[kept], zero, zero, news[kept]])

    def _entered(self, who: npt.NDArray[np.intp], news: Array) -> Flags:
        """Which are among the k nearest so far, ties by record; what comes later must be nearer than these."""
        people = np.unique(who)
        old = self._best[people]
        every = np.concatenate([old.reshape(-1, 2), news])
        whose = np.concatenate([np.repeat(people, self.k), who])
        order = np.lexsort((every[:, 1], every[:, 0], whose))
        place = np.empty(len(order), dtype=np.intp)
        starts = np.searchsorted(whose[order], people)
        place[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        first = order[place[order] < self.k]
        self._best[people] = every[first].reshape(len(people), self.k, 2)
        limit = np.minimum(self.seekers.limit, self._best[:, -1, 0])
        if (limit < self.seekers.limit * 0.8).mean() > 0.02:
            self.seekers.look(limit)
        kept: Flags = place[len(old) * self.k :] < self.k
        return kept


def _nearer(d2: Array, own: Array) -> Flags:
    return np.asarray(d2 < own * (1 - TIE) - TIE * TIE)


def _least(space: Space, people: Array, pool: Array, k: int) -> Array:
    """The k least squared distances of people to a pool."""
    found = np.full((len(people), k), np.inf)
    mine = space.coordinates(people)
    for start in range(0, len(pool), 256):
        theirs = space.coordinates(pool[start : start + 256])
        d2 = ((mine[0][:, None] - theirs[0]) ** 2).sum(axis=2)
        d2 += (mine[1][:, None] != theirs[1]) @ space.weights
        found = np.partition(np.hstack([found, d2]), k - 1, axis=1)[:, :k]
    return np.sort(found, axis=1)


class Search:
    """All that is sought for one call."""

    def __init__(self, spec: AttackSpec, people: Asked) -> None:
        width = len(spec.numbers)
        self.spec = spec
        self.is_number = np.array(spec.numbers, dtype=bool)
        self.known = np.arange(width) < len(spec.known)
        self.x, self.y = rows_of(people.x, width), rows_of(people.y, width)
        self.control = None if people.control is None else rows_of(people.control, width)
        self.size = min(spec.sample, len(self.x))
        every = np.ones(width, dtype=bool)
        self.kept = ((self.x == self.y) | (np.isnan(self.x) & np.isnan(self.y))).all(axis=0)
        self.plain, self.all = self.space(every), self.space(every, self.kept)
        self.turned = self.all.turned(self.x, self.y)
        self.by_known, self.by_conf = self.space(self.known), self.space(~self.known)
        self.questions: dict[int, Counted | Nearest] = {}
        self.predicates: Predicates | None = None
        if SINGLING_OUT in spec.attacks:
            self._single_out()
        if LINKABILITY in spec.attacks:
            self._link()
        if self.control is not None and len(self.control):
            self._with_control(np.vstack([self.x[: self.size], self.control]))
        rows = people.pairs * bool(self.questions)
        rows += (people.pairs + people.others) * (self.predicates is not None)
        self.progress = Progress(spec.faults().where, rows, "rows read")

    def space(self, used: Flags, kept: Flags | None = None) -> Space:
        return Space.of(self.x, self.is_number, used, kept)

    def _single_out(self) -> None:
        records = self.y[: self.size]
        others = dealt(self.by_known, records, self.y, ~self.known)
        self.predicates = Predicates(self.plain, np.vstack([records, others]))

    def _link(self) -> None:
        people, own = self.x[: self.size], self.y[: self.size]
        spaces = {BY_ALL: self.all, BY_TURNED: self.turned}
        if not self.by_known.empty:
            spaces[BY_KNOWN] = self.space(self.known, self.kept)
        for question, space in spaces.items():
            self.questions[question] = Counted(space, people, own, self.y)

    def _with_control(self, people: Array) -> None:
        if MEMBERSHIP in self.spec.attacks:
            self.questions[TOP_ALL] = Nearest(self.plain, people, self.y, 1)
        if LINKABILITY in self.spec.attacks and not self.by_known.empty:
            self.questions[TOP_KNOWN] = Nearest(self.by_known, people, self.y, NEAREST)
            self.questions[TOP_CONF] = Nearest(self.by_conf, people, self.y, NEAREST)

    def add(self, rows: Array) -> Array:
        """What a batch adds; each row is a record's number, then known and conf."""
        records, values = rows[:, 0], rows[:, 1:]
        batches: dict[int, Batch] = {}
        found = []
        for number, question in self.questions.items():
            space = question.seekers.space
            if id(space) not in batches:
                batches[id(space)] = Batch(space, values)
            own = question.add(batches[id(space)], records)
            found.append(np.column_stack([np.full(len(own), float(number)), own]))
        return np.concatenate(found) if found else np.empty((0, _WIDTH))

    def match(self, rows: Array) -> Array:
        """How many of these people each predicate matches, as what a batch adds."""
        assert self.predicates is not None
        counts = self.predicates.matches(rows)
        who = np.flatnonzero(counts)
        none = np.full(len(who), np.nan)
        return np.column_stack([none * 0, who, none * 0, counts[who], none, none])


def prepare(spec: AttackSpec, people: Asked) -> int:
    """A number that stands for what is sought; another one for each statement, as a search learns on its way."""
    made = Search(spec, people)
    token = next(_numbers)
    with _lock:
        _searches[token] = made
        while len(_searches) > _MOST_SEARCHES:
            _searches.popitem(last=False)
    return token


def search_of(token: int) -> Search:
    with _lock:
        found = _searches.get(token)
    if found is None:
        raise PpduckError(
            f"ppduck: more than {_MOST_SEARCHES} attacks are under way at once; run fewer at a time."
        )
    return found


def _batch_udf(add: Callable[[Search, Array], Array]) -> Callable[[Any, Any], pa.Array]:
    def batch(tokens: Any, lists: Any) -> pa.Array:
        rows = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
        found = np.empty((0, _WIDTH))
        if len(rows):
            values = rows.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)
            made = search_of(int(tokens[0].as_py()))
            found = add(made, values)
            made.progress.add(len(rows))
        # The first row of the batch has all that the batch adds.
        inner = np.arange(len(found) + 1, dtype=np.int32) * _WIDTH
        listed = pa.ListArray.from_arrays(pa.array(inner), pa.array(found.reshape(-1)))
        outer = np.full(len(rows) + 1, len(found), dtype=np.int32)
        outer[0] = 0
        return pa.ListArray.from_arrays(pa.array(outer), listed)

    return batch


PREPARE = told_udf("ppduck_attack_prepare", prepare, AttackSpec, Asked, "UBIGINT")
SEARCH, MATCH_BOXES = (
    Udf(name, _batch_udf(add), ("UBIGINT", "DOUBLE[]"), "DOUBLE[][]")
    for name, add in (("ppduck_attack_search", Search.add), ("ppduck_attack_match", Search.match))
)
UDFS = (PREPARE, SEARCH, MATCH_BOXES)


def search(sides: Sides, statement: sql.Statement, spec: AttackSpec) -> None:
    """Steps that read all records, and all people of the original and of the control, past what is sought."""
    told, rows = told_people()
    told |= {"pairs": sql.column(MATCHED), "others": sql.number(0)}
    if sides.control is not None:
        told["others"] = sql.scalar(sql.query([aggregates.rows()], sql.table(CONTROL)))
    token = sql.named(PREPARE.in_sql(spec, told), "_pp_token")
    # Keys that do not match, and a control of the same people, are refused before anything is sought.
    statement.step(ASKED, sql.query([token], rows.cross(sql.table(ADMITTED))), materialized=True)
    own = sql.array([sides.record(), *(sql.column(f"_pp_y{j}") for j in sides.places)], "DOUBLE")
    if LINKABILITY in spec.attacks or (MEMBERSHIP in spec.attacks and sides.control is not None):
        _read(statement, SEARCHED, SEARCH, MASKED, own)
    if SINGLING_OUT in spec.attacks:
        _read(statement, BOXED, MATCH_BOXES, ORIGINAL, sides.row("x"))
        if sides.control is not None:
            _read(statement, BOXED_CONTROL, MATCH_BOXES, CONTROL, sides.row("x"))


def _read(statement: sql.Statement, step: str, udf: Udf, table: str, row: sql.Expr) -> None:
    """A step of one row: of each question and person, the sums of counts and the least distances with their records."""
    asked = sql.call(udf.name, sql.column("_pp_token"), row)
    added = sql.named(sql.call("unnest", asked), "_pp_added")
    each = sql.derived(sql.query([added], sql.table(table).cross(sql.table(ASKED))), "_pp_batches")
    part = [sql.item(sql.column("_pp_added"), i + 1) for i in range(_WIDTH)]
    question, person, nearer, tied, distance, record = part
    least = sql.call("min", sql.array([distance, record], "DOUBLE"), sql.number(NEAREST))
    padded = sql.call(
        "list_resize", sql.call("flatten", least), sql.number(2 * NEAREST), sql.null()
    )
    sums = [sql.call("sum", value) for value in (nearer, tied)]
    told = sql.call(
        "list_concat", sql.array([question, person, *sums], "DOUBLE"), sql.cast(padded, "DOUBLE[]")
    )
    grouped = sql.query(
        [sql.named(told, "_pp_found")], each, group=[question.copy(), person.copy()]
    )
    listed = sql.call("flatten", sql.call("list", sql.column("_pp_found")))
    whole = sql.query([sql.named(listed, f"{step}_told")], sql.derived(grouped, "_pp_groups"))
    statement.step(step, whole, materialized=True)
