"""A masking rule of a dbt model: read from its meta, checked against the registry, written as a call.

A model says ``meta: {ppduck: {mask: egadp, conf: [x1, x2], key: id}}`` with any parameter of the mask; a column says
``meta: {ppduck: conf}``, or ``{role: conf, p: 0.8}`` with parameters that are its own. Of any mask the rule may say
what only the gate asks: ``keep``, columns that may be released as they are, ``qi``, quasi-identifiers, and
``pseudonyms``, columns that have some in place of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from ppduck.call import arguments, registry
from ppduck.call.guarantees import Promise
from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import MisreadError
from ppduck.call.registry import Function
from ppduck.designs.randomizing_mask import RandomizingMask
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.values import folded

META, ROLE, MASK, SUFFIX = "ppduck", "role", "mask", "_mask"
# roles that the gate knows, whether the mask does or not
GATE = {
    "keep": arguments.columns,
    "qi": arguments.columns,
    "pseudonyms": arguments.replaced_columns,
}
DESIGN = ("p", "matrix", "levels")
LATER = object()  # the value of an argument that is known only when the model runs


@frozen
class Rule:
    """What a model's meta asks for: a mask, and its arguments by the names of its parameters."""

    model: str
    mask: Function
    given: Mapping[str, Any]
    later: tuple[str, ...] = ()  # the parameters whose arguments are known only when the model runs
    # columns that only the gate asks of
    gate: Mapping[str, list[str] | dict[str, str]] = field(default_factory=dict)

    @property
    def roles(self) -> dict[str, list[str]]:
        """The columns that the rule names, by the parameter that names them."""
        found = {}
        for name in roles_of(self.mask):
            if name in self.given:
                value = self.given[name]
                found[name] = [value] if isinstance(value, str) else list(value)
        return found

    @property
    def own(self) -> dict[str, Any]:
        """The other arguments."""
        return {name: value for name, value in self.given.items() if name not in self.roles}

    @property
    def conf(self) -> list[str]:
        """The columns that are masked; those of rr_mask and pram_mask may be named by p and matrix only."""
        named = self.roles.get("conf") or self.roles.get("sensitive")
        per_column = [self.given.get(name) for name in ("p", "matrix")]
        return named or list(
            dict.fromkeys(c for value in per_column if isinstance(value, Mapping) for c in value)
        )

    @property
    def keep(self) -> list[str]:
        """The columns that may be released as they are."""
        return [*self.gate.get("keep", []), *self.roles.get("keep", [])]

    @property
    def design(self) -> dict[str, Any]:
        """How categories are randomized. That of invariant PRAM hangs on the data, and is nobody's to tell."""
        if not isinstance(self.mask, RandomizingMask) or self.given.get("invariant"):
            return {}
        return {name: self.given[name] for name in DESIGN if name in self.given}

    @property
    def keeps_moments(self) -> bool:
        """Whether the mask promises exact means and covariances with these arguments."""
        if not isinstance(self.mask.takes, type):
            return False
        # may be known only later
        required = {p.name: None for p in self.mask.parameters if p.default is None}
        read = {
            p.name: p.read(self.given[p.name]) for p in self.mask.parameters if p.name in self.given
        }
        call: Any = self.mask.takes(**required | read)
        if isinstance(call, NumericCall) and (call.round or call.on_null in ("drop", "mean")):
            return False
        return self.mask.promises(Promise.MOMENTS, call)

    def statement(self, source: str) -> str:
        """The call as SQL; ``source`` is what tbl takes.

        Text and no tree: dbt shows it as the model's SQL, and it is what a user would write.
        """
        told = "".join(f", {name} := {literal(value)}" for name, value in self.given.items())
        return f"select * from {self.mask.name}({literal(source)}{told})"

    def check_columns(self, source: str, columns: Sequence[str]) -> None:
        """Refuses names that the source does not have, all in one message."""
        faults = Faults(_where(self.model))
        known = {folded(name) for name in columns}
        for parameter, name in dict.fromkeys(self._named()):
            if folded(name) not in known:
                faults.add(
                    f"{parameter} names column {quoted(name)}, which {quoted(source)} does not have."
                    f"{near_miss(name, columns)} Columns: {listed(columns)}."
                )
        faults.raise_if_any()

    def _named(self) -> Iterator[tuple[str, str]]:
        for parameter, names in self.roles.items():
            yield from ((parameter, name) for name in names)
        for parameter, value in self.own.items():
            if isinstance(value, Mapping):
                yield from ((parameter, str(name)) for name in value)


def masks() -> dict[str, Function]:
    """Every mask by its short name: egadp for egadp_mask. One that takes a secret would show it in the model's SQL."""
    found = registry.masks().values()
    return {
        f.name.removesuffix(SUFFIX): f
        for f in found
        if all(p.name != "secret" for p in f.parameters)
    }


def roles_of(mask: Function) -> list[str]:
    """The parameters that take columns; sensitive takes one."""
    return [p.name for p in mask.parameters if p.read is arguments.columns or p.name == "sensitive"]


def gates_of(mask: Function) -> list[str]:
    """The roles that are the gate's alone."""
    return [name for name in GATE if name not in roles_of(mask)]


def read_rule(
    model: str, whole: Any, columns: Mapping[str, Any], call: Mapping[str, Any] | None = None
) -> Rule:
    """The rule of a model from its own meta, that of its columns, and what its call of the macro adds.

    Raises PpduckError, which names the model and everything that is wrong; arguments that are LATER cannot be.
    """
    faults = Faults(_where(model))
    whole = {} if whole is None else whole
    if not isinstance(whole, Mapping):
        raise faults.refuse(
            f"meta.ppduck takes a mapping such as {{mask: egadp, conf: [x1, x2], key: id}}, got {whole!r}."
        )
    given = {**whole, **(call or {})}
    mask = _mask(faults, given.pop(MASK, None))
    for column, meta in columns.items():
        _add_column(faults, mask, given, column, meta)
    asked = {name: value for name, value in given.items() if value is not None}
    of_gate = {name: asked.pop(name) for name in gates_of(mask) if name in asked}
    gate = _columns(faults, of_gate)
    checked = _checked(faults, mask, asked)
    return Rule(
        model, mask, checked, tuple(name for name, value in given.items() if value is LATER), gate
    )


def _mask(faults: Faults, name: Any) -> Function:
    known = masks()
    if name is None:
        raise faults.refuse(
            f"it names no mask; add mask: to meta.ppduck of the model. Masks: {listed(known)}."
        )
    short = str(name).casefold().removesuffix(SUFFIX)
    if short not in known:
        raise faults.refuse(
            f"there is no mask {quoted(str(name))}.{near_miss(short, known)} Masks: {listed(known)}."
        )
    return known[short]


def _add_column(
    faults: Faults, mask: Function, given: dict[str, Any], column: str, meta: Any
) -> None:
    """Adds what a column says of itself to the arguments."""
    own = dict(meta) if isinstance(meta, Mapping) else {ROLE: meta}
    role, roles = own.pop(ROLE, None), [*roles_of(mask), *gates_of(mask)]
    if role is not None and role not in roles:
        faults.add(
            f"column {quoted(column)} has role {quoted(str(role))}, which {mask.name} does not know."
            f"{near_miss(str(role), roles)} Roles: {listed(roles)}."
        )
    elif role is not None and given.get(role) is not LATER:
        given[role] = _with(given.get(role), column, role)
    for name, value in own.items():
        others = given.setdefault(name, {})
        if isinstance(others, dict):
            given[name] = others | {column: value}
        elif others is not LATER:
            faults.add(
                f"{name} is given for the model and for column {quoted(column)}; keep one of them."
            )


def _with(named: Any, column: str, role: str) -> Any:
    """The columns of a role, and one more."""
    if isinstance(
        named, Mapping
    ):  # {token: customer_id}: this one stands for what has its own name
        return {column: column, **named}
    others = [named] if isinstance(named, str) else list(named or [])
    every = others if column in others else [*others, column]
    return every if role != "sensitive" or len(every) > 1 else column


def _columns(faults: Faults, given: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in given.items():
        if value is not LATER:
            try:
                found[name] = GATE[name](value)
            except MisreadError as misread:
                faults.add(f"{name} {misread}, got {value!r}.")
    return found


def _checked(faults: Faults, mask: Function, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {p.name: p for p in mask.parameters[1:]}  # the first is tbl, which the macro gives
    result = {}
    for name, value in given.items():
        if name not in known:
            faults.add(
                f"{mask.name} has no parameter {quoted(name)}.{near_miss(name, known)} Parameters: {listed(known)}."
            )
            continue
        if value is LATER:
            continue
        try:
            known[name].read(value)
            result[name] = value
        except MisreadError as misread:
            faults.add(f"{name} of {mask.name} {misread}, got {value!r}.")
    for parameter in known.values():
        if parameter.default is None and parameter.name not in given:
            faults.add(
                f"parameter {quoted(parameter.name)} of {mask.name} is missing: {parameter.doc}."
            )
    faults.raise_if_any()
    return result


def literal(value: Any) -> str:
    """A value of YAML's as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return sql.render(sql.number(value))
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{literal(str(name))}: {literal(part)}" for name, part in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]" + ("" if value else "::VARCHAR[]")
    return sql.render(sql.text(str(value)))


def _where(model: str) -> str:
    return f"ppduck rule of model {quoted(model)}"
