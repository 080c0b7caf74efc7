"""Reads a policy: every fault in one message, each with its place and the near miss; no table is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ppduck.call.numeric_mask import NumericMask
from ppduck.call.parameters import REQUIRED, ColumnNames, MisreadError, Parameter
from ppduck.call.registry import Function, function_named, masks
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.masks import pram, pseudonym, recode, rr
from ppduck.policy.document import Node, without
from ppduck.policy.fields import Fields, kind
from ppduck.policy.model import Policy, Step, Treatment
from ppduck.policy.names import OF_COLUMNS, check_names, columns_named
from ppduck.policy.wording import said
from ppduck.values import folded

KEYS = ("from", "key", "domain", "columns", "masks", "limits", "qi", "batch", "smallest_batch")
WORDS = (Treatment.KEEP.value, Treatment.DROP.value)
# What stands beside the word of a treatment.
BESIDE = {
    Treatment.PSEUDONYM: ("domain",),
    Treatment.DATE: ("per", "within", "unit"),
    Treatment.RECODE: (),
    Treatment.RANDOMIZE: (),
    Treatment.MASK: (),
}
OF_RANDOMIZE = ("p", "matrix", "levels", "invariant", "on_null")
# What a mask in ``masks`` is told elsewhere, or must not be told.
ELSEWHERE = ("tbl", "conf", "key", "drop", "seed")
_MASK = "_mask"
_PSEUDONYMS, _DATES, _RECODES = "pseudonym_mask", "date_mask", "recode_mask"
Judge = Callable[[Policy], Iterable[str]]
SHIFT, DAY = "shift", "day"


def read(
    function: str,
    table: str | None,
    document: Node,
    own: Sequence[str] | None = None,
    judged: Judge | None = None,
) -> Policy:
    """The policy that a document declares, held against a table's ``own`` columns where these are known.

    Where something is wrong, ``judged`` is asked what else is, of what could be read.
    """
    return read_into(Faults(function, table), document, own, judged)


def read_into(
    faults: Faults,
    document: Node,
    own: Sequence[str] | None = None,
    judged: Judge | None = None,
) -> Policy:
    """The same, with what else was found wrong in one message."""
    return _Reading(faults, document).policy(own, judged)


def maskings() -> dict[str, Function]:
    """The masks of numbers by the short names that policies give them."""
    return {
        name.removesuffix(_MASK): own
        for name, own in masks().items()
        if isinstance(own, NumericMask)
    }


class _Reading:
    def __init__(self, faults: Faults, document: Node) -> None:
        self._faults = faults
        self._fields = Fields(self._faults, document, KEYS)
        self._groups = self._fields.mapping("masks", "masks and their arguments")
        # what is gathered of columns, by what one call of a mask can do
        self._pseudonyms: dict[str, dict[str, Any]] = {}
        self._dates: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._recodes: dict[str, Any] = {}
        self._randomized: dict[tuple[bool, str], dict[str, dict[str, Any]]] = {}
        self._masked: dict[str, list[str]] = {}
        self._treatments: dict[str, Treatment] = {}
        self._places: dict[str, str] = {}

    def policy(self, own: Sequence[str] | None, judged: Judge | None) -> Policy:
        columns = self._fields.mapping("columns", "columns and what becomes of them")
        if not columns:
            raise self._faults.refuse(
                "columns is missing: name every column of the table and what becomes of it, such as "
                "{'columns': {'id': 'drop', 'income': {'mask': 'egadp'}}}."
            )
        for name, node in columns.items():
            self._column(name, node)
        fields = self._fields
        key = fields.names("key") or ()
        random = {Treatment.MASK, Treatment.RANDOMIZE}
        drawn = [name for name, own in self._treatments.items() if own in random]
        if drawn and not key:
            self._faults.add(
                f"key is missing: noise and draws of {listed(drawn)} go by the columns that identify a row; give key: "
                "…, such as key: customer_id."
            )
        found: dict[str, Any] = {
            "source": fields.text("from"),
            "key": key,
            "columns": self._treatments,
            "steps": tuple(self._steps(key)),
            "limits": fields.limits(),
            "qi": fields.names("qi"),
            "batch": fields.text("batch"),
            "smallest_batch": fields.whole("smallest_batch"),
        }
        used = self._used(found)
        if own is not None:
            check_names(self._faults, self._places, used, found["qi"] or (), own)
        policy = Policy(**found, said={}, places=self._places, named=used)
        if self._faults and judged is not None:
            for each in judged(policy):
                self._faults.add(each)
        self._faults.raise_if_any()
        return replace(
            policy, said={name: said(node, self._groups) for name, node in columns.items()}
        )

    def _used(self, found: Mapping[str, Any]) -> dict[str, str]:
        """The columns that are read because of what stands elsewhere than under columns, and what names them."""
        asked: list[tuple[str, Any]] = [("key", found["key"]), ("batch", found["batch"])]
        asked += [
            (f"{parameter} of {node.place}", node.value[parameter].plain)
            for node in self._groups.values()
            if isinstance(node.value, dict)
            for parameter in OF_COLUMNS
            if parameter in node.value
        ]
        asked += [
            (f"per of {self._places[next(iter(to))]}", per) for (per, *_), to in self._dates.items()
        ]
        return columns_named(asked)

    # What stands behind a column.

    def _column(self, name: str, node: Node) -> None:
        twice = next((each for each in self._treatments if folded(each) == folded(name)), None)
        if twice is not None:
            self._fields.add(node, f"column {quoted(name)} is there twice, as {quoted(twice)} too.")
            return
        self._places[name] = node.place
        treatment = self._treatment(name, node)
        if treatment is not None:
            self._treatments[name] = treatment

    def _treatment(self, name: str, node: Node) -> Treatment | None:
        if isinstance(node.value, str):
            if node.value in WORDS:
                return Treatment(node.value)
            known = [each.value for each in Treatment]
            self._fields.add(
                node,
                f"column {quoted(name)}: {node.value!r} is none of what becomes of a column."
                f"{near_miss(node.value, known)} Say keep, drop, or one of {{pseudonym: …}}, {{date: …}}, "
                "{recode: …}, {randomize: …}, {mask: …}.",
            )
            return None
        if not isinstance(node.value, dict):
            self._fields.add(
                node,
                f"column {quoted(name)} needs keep, drop or a mapping, got {kind(node.value)}.",
            )
            return None
        words = [each for each in Treatment if each.value in node.value and each in BESIDE]
        if len(words) != 1:
            said = "says several things" if words else "does not say what becomes of it"
            known = [each.value for each in BESIDE]
            hint = next(
                (near_miss(each, known) for each in node.value if near_miss(each, known)), ""
            )
            self._fields.add(
                node, f"column {quoted(name)} {said}: give one of {listed(known)}.{hint}"
            )
            return None
        treatment = words[0]
        allowed = [treatment.value, *BESIDE[treatment]]
        for each, own in node.value.items():
            if each not in allowed:
                self._fields.add(
                    own,
                    f"column {quoted(name)}: beside {treatment.value} there is no {each!r}.{near_miss(each, allowed)}",
                )
        asked = node.value[treatment.value]
        if asked.value is None:
            self._fields.add(node, f"column {quoted(name)}: {treatment.value} does not say how.")
            return None
        gather = {
            Treatment.PSEUDONYM: self._pseudonym,
            Treatment.DATE: self._date,
            Treatment.RECODE: self._recode,
            Treatment.RANDOMIZE: self._randomize,
            Treatment.MASK: self._mask,
        }[treatment]
        gather(name, node, asked)
        return treatment

    def _pseudonym(self, name: str, node: Node, asked: Node) -> None:
        own = node.value.get("domain") or self._fields.get("domain")
        domain = pseudonym.DEFAULT_DOMAIN if own is None else own.value
        if not isinstance(domain, str):
            self._fields.add(
                node, f"column {quoted(name)}: domain takes a text, got {kind(domain)}."
            )
            return
        form = asked.plain if isinstance(asked.value, dict) else {"as": asked.value}
        if self._sound(asked, pseudonym.misread({name: form})):
            said = without(pseudonym.DEFAULTS, asked.plain)
            self._pseudonyms.setdefault(domain, {})[name] = said

    def _date(self, name: str, node: Node, asked: Node) -> None:
        beside = {
            each: node.value[each].plain for each in BESIDE[Treatment.DATE] if each in node.value
        }
        if asked.plain != SHIFT and beside and not near_miss(str(asked.plain), [SHIFT]):
            self._fields.add(
                node, f"column {quoted(name)}: {listed(beside)} are of shifted dates only."
            )
            return
        if beside.get("unit") == DAY:
            del beside["unit"]  # as if it were not said
        per = beside.get("per")
        group = (
            tuple(per) if isinstance(per, list) else per,
            beside.get("within"),
            beside.get("unit"),
        )
        self._dates.setdefault(group, {})[name] = asked.plain

    def _recode(self, name: str, node: Node, asked: Node) -> None:
        rules = asked.plain
        if isinstance(rules, dict):
            rules = {option: each for option, each in rules.items() if each is not None}
            if not self._sound(asked, recode.misread({name: rules})):
                return
        self._recodes[name] = without(recode.DEFAULTS, rules)

    def _randomize(self, name: str, node: Node, asked: Node) -> None:
        said = asked.plain
        own = (
            said
            if isinstance(said, Mapping)
            else {"matrix" if isinstance(said, list) else "p": said}
        )
        for each in own:
            if each not in OF_RANDOMIZE:
                self._fields.add(
                    asked,
                    f"column {quoted(name)}: randomize has no {each!r}.{near_miss(each, OF_RANDOMIZE)} It has: "
                    f"{listed(OF_RANDOMIZE)}.",
                )
                return
        group = (own.get("invariant") is True, str(own.get("on_null") or "keep"))
        self._randomized.setdefault(group, {})[name] = dict(own)

    def _mask(self, name: str, node: Node, asked: Node) -> None:
        if not isinstance(asked.value, str):
            self._fields.add(
                node, f"column {quoted(name)}: mask takes the name of a mask, such as egadp."
            )
            return
        self._masked.setdefault(asked.value, []).append(name)

    def _sound(self, node: Node, faults: Sequence[str]) -> bool:
        for each in faults:
            self._fields.add(node, each)
        return not faults

    # What they make together.

    def _steps(self, key: tuple[str, ...]) -> Iterable[Step]:
        for label, columns in self._masked.items():
            yield from self._mask_step(label, columns, key)
        for label, node in self._groups.items():
            if label not in self._masked:
                self._fields.add(
                    node,
                    f"masks names {label!r}, which no column is masked by.{near_miss(label, self._masked)}",
                )
        for (invariant, on_null), columns_of in self._randomized.items():
            yield from self._randomizing(columns_of, invariant, on_null, key)
        for (per, within, unit), asked in self._dates.items():
            given = {"columns": asked, "per": list(per) if isinstance(per, tuple) else per}
            yield from self._step(
                function_named(_DATES),
                given | {"within": within, "unit": unit},
                asked,
                Treatment.DATE,
            )
        if self._recodes:
            yield from self._step(
                function_named(_RECODES), {"recode": self._recodes}, self._recodes, Treatment.RECODE
            )
        for domain, asked in self._pseudonyms.items():
            given = {"columns": asked, "domain": domain}
            yield from self._step(function_named(_PSEUDONYMS), given, asked, Treatment.PSEUDONYM)

    def _mask_step(self, label: str, columns: list[str], key: tuple[str, ...]) -> Iterable[Step]:
        node = self._groups.get(label)
        given = {} if node is None or node.value is None else node.plain
        if not isinstance(given, Mapping):
            assert node is not None
            self._fields.add(
                node,
                f"mask {label!r} takes its arguments, such as {{nonconf: [age]}}, got {kind(given)}.",
            )
            return
        own = dict(given)
        short = own.pop("mask", label)
        found = maskings().get(str(short).removesuffix(_MASK))
        if found is None:
            known = sorted(maskings())
            self._faults.add(
                f"{self._places[columns[0]]}: there is no mask {short!r}.{near_miss(str(short), known)} Masks: "
                f"{listed(known)}."
            )
            return
        refused = [each for each in own if each in ELSEWHERE]
        if refused:
            assert node is not None
            self._fields.add(
                node,
                f"mask {label!r}: {listed(refused)} cannot stand here: columns, key and what is dropped are said "
                "above, and seeded noise protects nothing.",
            )
            return
        yield from self._step(
            found, {"conf": columns, "key": list(key)} | own, columns, Treatment.MASK, node
        )

    def _randomizing(
        self,
        columns: dict[str, dict[str, Any]],
        invariant: bool,
        on_null: str,
        key: tuple[str, ...],
    ) -> Iterable[Step]:
        given: dict[str, Any] = {
            "key": list(key),
            "on_null": on_null,
            "invariant": invariant or None,
        }
        for each in ("p", "matrix", "levels"):
            told = {name: own[each] for name, own in columns.items() if own.get(each) is not None}
            if told:
                given[each] = told
        function = function_named(pram.NAME if invariant else rr.NAME)
        yield from self._step(function, given, columns, Treatment.RANDOMIZE)

    def _step(
        self,
        function: Function,
        given: Mapping[str, Any],
        columns: Iterable[str],
        treatment: Treatment,
        node: Node | None = None,
    ) -> Iterable[Step]:
        """The call, its arguments read as those of a call in SQL."""
        names = tuple(columns)
        where = node.place if node is not None else self._places[names[0]]
        known = {each.name: each for each in function.parameters}
        read: dict[str, Any] = {}
        sound = True
        for name, value in given.items():
            if value is None:
                continue
            if name not in known:
                shown = [each for each in known if each not in ELSEWHERE]
                self._faults.add(
                    f"{where}: {function.name} has no parameter {name!r}.{near_miss(name, shown)} Parameters: "
                    f"{listed(shown)}."
                )
                sound = False
                continue
            try:
                read[name] = _in_order(known[name], known[name].read(value))
            except MisreadError as misread:
                self._faults.add(f"{where}: {name} of {function.name} {misread}, got {value!r}.")
                sound = False
        for name, each in known.items():
            if each.value is REQUIRED and name not in given and name not in ELSEWHERE:
                self._faults.add(f"{where}: {function.name} needs {name}: {each.doc}.")
                sound = False
        if sound:
            yield Step(function.name, read, names, treatment)


def _in_order(parameter: Parameter, value: Any) -> Any:
    """Columns by their names, as in which order they are named means nothing."""
    if parameter.columns is ColumnNames.LISTED and isinstance(value, list):
        return sorted(value, key=folded)
    return value
