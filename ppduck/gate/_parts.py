"""Which part every column plays in a release, as far as the call and the catalogue tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ppduck.call.roles import refuse_overlap
from ppduck.call.roles import resolve_columns as resolve
from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import Attribute, DesignWords, Matrix, Probability
from ppduck.errors import Faults, PpduckError
from ppduck.estimators.design_source import read_release
from ppduck.frozen import frozen
from ppduck.gate import _accounts, _groups, _pseudonyms
from ppduck.gate._accounts import Other
from ppduck.gate._pseudonyms import Named, Pseudonym
from ppduck.pairs.columns import Compared
from ppduck.values import folded


class Asked(Protocol):
    """What a call says of the columns."""

    @property
    def original(self) -> str: ...
    @property
    def release(self) -> str: ...
    @property
    def conf(self) -> Sequence[str]: ...
    @property
    def key(self) -> Sequence[str]: ...
    @property
    def nonconf(self) -> Sequence[str] | None: ...
    @property
    def keep(self) -> Sequence[str]: ...
    @property
    def qi(self) -> Sequence[str] | None: ...
    @property
    def p(self) -> Probability | None: ...
    @property
    def matrix(self) -> Mapping[str, Matrix] | None: ...
    @property
    def levels(self) -> Mapping[str, list[Any]] | None: ...
    @property
    def pseudonyms(self) -> Named: ...


@frozen
class Parts:
    """The columns of one call of the gate."""

    columns: Compared
    hidden: _groups.Hidden
    conf: list[Column]  # of the original, all of them
    dropped: list[Column]  # those that the release lacks
    others: list[Other]
    qi: list[Column] | None  # None where nobody names them
    designs: dict[str, Attribute]  # of randomized categories, by name
    pseudonyms: list[Pseudonym]

    @property
    def kinds(self) -> dict[str, Sequence[Column]]:
        """The masked columns that rules are of."""
        columns = self.columns
        return {
            "numbers": columns.numbers,
            "categories": columns.categories,
            "all": [*columns.numbers, *columns.categories],
        }

    @classmethod
    def of(cls, name: str, catalog: Catalog, call: Asked) -> Parts:
        columns = Compared(name, catalog, call)
        faults = columns.faults
        if not call.conf:
            faults.add("conf is empty; name at least one column, such as conf := ['x1'].")
        conf = resolve(faults, columns.original, "conf", call.conf)
        refuse_overlap(faults, {"key": columns.key, "conf": conf}, "key")
        hidden = _groups.hidden_in(columns, [column.name for column in conf])
        hidden_names = {folded(name) for name in hidden.names}
        dropped, other_form, seen = [], list[Column](), []
        for column in conf:
            after = columns.masked.find(column.name)
            if folded(column.name) in hidden_names:
                columns.unseen.append(column)
            elif after is None:
                dropped.append(column)
                columns.unseen.append(column)
            elif after.is_numeric != column.is_numeric:
                other_form.append(column)
                columns.unseen.append(column)
            else:
                seen.append(column.name)
        if seen:
            columns.use_conf(seen)
        designs = _designs(name, catalog, call, columns)
        # A code that was drawn by a design is a category, though it is a number.
        for column in [column for column in columns.numbers if column.name in designs]:
            columns.numbers.remove(column)
            columns.categories.append(column)
        declared: dict[str, Sequence[Column]] = {"conf": other_form}
        keep = resolve(faults, columns.masked, "keep", call.keep)
        qi = None if call.qi is None else resolve(faults, columns.masked, "qi", call.qi)
        declared |= {"keep": keep, "qi": qi or []}
        refuse_overlap(faults, {"conf": conf, "keep": keep}, "conf")
        if call.nonconf is not None:
            declared["nonconf"] = resolve(Faults(name), columns.original, "nonconf", call.nonconf)
        pseudonyms = _pseudonyms.of(columns, call.pseudonyms, declared | {"conf": conf})
        # What a pseudonym stands for is no longer known beside the release.
        columns.replaced = [each.name for each in pseudonyms]
        columns.use_nonconf(call.nonconf, designs)
        declared[_pseudonyms.PARAMETER] = [Column(each.name, "") for each in pseudonyms]
        masked = [column for column in conf if column not in other_form]
        others = _accounts.others(columns, masked, declared, grouped=bool(hidden.anatomized))
        columns.numbered = True
        return cls(columns, hidden, conf, dropped, others, qi, designs, pseudonyms)


def _designs(name: str, catalog: Catalog, call: Asked, columns: Compared) -> dict[str, Attribute]:
    """How columns of conf were randomized: as the call says, or as a view over a mask does."""
    words = DesignWords(call.p, call.matrix, call.levels)
    may_be = [*columns.categories, *(column for column in columns.numbers if column.is_integer)]
    told = [*(call.p if isinstance(call.p, Mapping) else ()), *(call.matrix or ())]
    if words.tells_probabilities:
        for each in told:
            if folded(each) not in {folded(column.name) for column in may_be}:
                columns.faults.add(
                    f"p or matrix names column {each!r}, which is no category of conf."
                )
                return {}
        named = {*map(folded, told)}
        chosen = [c.name for c in may_be if isinstance(call.p, float) or folded(c.name) in named]
        found = (
            read_release(name, catalog, call.original, chosen, words).attributes if chosen else ()
        )
    elif columns.masked.has_rowid:
        found = ()
    else:
        found = tuple(each for c in may_be for each in _of_view(name, catalog, call, c.name))
    return {each.name: each for each in found}


def _of_view(name: str, catalog: Catalog, call: Asked, column: str) -> tuple[Attribute, ...]:
    """The design that a view's definition tells; what cannot be read is held to chance."""
    try:
        return read_release(name, catalog, call.release, [column], DesignWords()).attributes
    except PpduckError:
        return ()
