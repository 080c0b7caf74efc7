"""A proposal as a page of YAML: the lines of a policy, each with its reason behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ppduck.libraries import yaml
from ppduck.policy import document

HEADER = (
    "A proposal, made by rules that know names, types and counts, and nothing of what the columns mean.",
    "Read every line and decide; ppduck release --explain tells what the policy would then do.",
)
_WIDEST_NAME, _WIDEST_TREATMENT = 32, 60
_LONGEST_KEY = 500  # characters of a name that YAML takes in front of a colon, by far
_NUMBER, _DAYS = re.compile(r"[-+.\d]"), re.compile(r"\d+ days")
_FLAGS = ("y", "n")  # which some read as yes and no

Row = Sequence[str | None]  # column_name, treatment, reason


def in_a_line(value: Any) -> str:
    """A value as YAML on one line, such as {randomize: 0.8}; any text is read as a text again, by YAML 1.1 and 1.2."""
    written: str = yaml.dump(
        [value],
        Dumper=_dumper(),
        default_flow_style=True,
        width=float("inf"),
        sort_keys=False,
        allow_unicode=True,
    )
    return written.strip()[1:-1]


def at_the_top(name: str, value: Any) -> str:
    """The same of what stands at the top of a policy, under its name."""
    return f"{name}: {in_a_line(value)}"


@cache
def _dumper() -> Any:
    class Dumper(yaml.SafeDumper):  # type: ignore[misc, name-defined]
        """Quotes what looks like a number or a flag to anybody."""

        def ignore_aliases(self, data: Any) -> bool:
            return True  # references would not be read by people

    def text(dumper: Any, value: str) -> Any:
        looks = _NUMBER.match(value) and not _DAYS.fullmatch(value)
        style = "'" if looks or value.lower() in _FLAGS else None
        style = style if value.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper


def page(rows: Iterable[Row]) -> str:
    """The whole policy: what holds of all first, then the columns, then what is behind them."""
    told = list(rows)
    columns = [row for row in told if row[0] is not None]
    begin = told.index(columns[0]) if columns else len(told)
    lines = [f"# {each}" for each in HEADER]
    lines += [_top(row) for row in told[:begin]]
    lines += [
        "columns:",
        *_aligned([(in_a_line(n), t or "drop", why or "") for n, t, why in columns]),
    ]
    masks: list[tuple[str, str, str]] = []
    behind = []
    for row in told[begin + len(columns) :]:
        own = document.of_yaml(row[1] or "").plain.get("masks")
        masks += [(in_a_line(n), in_a_line(v), row[2] or "") for n, v in (own or {}).items()]
        behind += [] if own else [_top(row)]
    lines += ["masks:", *_aligned(masks)] if masks else []
    return "\n".join([*lines, *behind]) + "\n"


def _top(row: Row) -> str:
    _, treatment, reason = row
    return f"{treatment}  {_comment(reason)}" if treatment else _comment(reason)


def _aligned(lines: Sequence[tuple[str, str, str]]) -> list[str]:
    """Names, treatments and reasons, below each other where they are not too long."""
    names = max((len(n) for n, _, _ in lines if len(n) <= _WIDEST_NAME), default=0) + 1
    widths = max((len(t) for _, t, _ in lines if len(t) <= _WIDEST_TREATMENT), default=0)
    return [f"  {_named(n, names)} {t:{widths}}  {_comment(why)}" for n, t, why in lines]


def _named(name: str, width: int) -> str:
    """The name and its colon; a very long name is said to be one."""
    return f"? {name}\n  :" if len(name) > _LONGEST_KEY else f"{name + ':':{width}}"


def _comment(text: str | None) -> str:
    """A reason names columns, in which anything may stand."""
    return "# " + "".join(each if each.isprintable() else "?" for each in text or "")
