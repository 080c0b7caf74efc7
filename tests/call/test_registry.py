"""Functions are found by walking packages, once, and presented room by room."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ppduck.call import registry
from ppduck.call.parameters import Call
from ppduck.call.registry import Function, Kind, PlainMacro
from ppduck.query import tree as sql


def function(name: str, **more: object) -> Function:
    return Function(name, Call, lambda catalog, call: sql.null(), "", "", **more)  # type: ignore[arg-type]


@pytest.fixture
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_FUNCTIONS", dict(registry._FUNCTIONS))
    monkeypatch.setattr(registry, "_found", dict(registry._found))


def test_every_room_has_functions_and_they_stand_in_its_order() -> None:
    assert list(registry._found)[: len(registry.ROOMS)] == list(registry.ROOMS)
    assert all(registry._found[room] for room in registry.ROOMS)
    assert {each.name for each in registry.presented()} == {each.name for each in registry.functions()}
    assert registry.presented()[0].kind is Kind.MASK
    assert registry.presented()[-1].kind is Kind.HELP


@pytest.mark.usefixtures("_as_before")
def test_a_package_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "found_once").mkdir()
    (tmp_path / "found_once" / "__init__.py").touch()
    (tmp_path / "found_once" / "one.py").write_text(
        "from ppduck.call.registry import Function, register\n"
        "from ppduck.call.parameters import Call\n"
        "register(Function('zz_one', Call, lambda catalog, call: '', 'One.', ''))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        registry.discover("found_once")
        registry.discover("found_once")
        assert registry.function_named("zz_one").summary == "One."
        assert registry.presented()[-1].name == "zz_one"
    finally:
        for name in ("found_once", "found_once.one"):
            sys.modules.pop(name, None)


@pytest.mark.usefixtures("_as_before")
def test_what_is_registered_must_be_whole() -> None:
    with pytest.raises(ValueError, match="egadp_mask is registered twice"):
        registry.register(function("egadp_mask"))
    with pytest.raises(ValueError, match="own_mask: masks, and no others, explain a call"):
        registry.register(function("own_mask", kind=Kind.MASK))


@pytest.mark.parametrize("each", registry.functions(), ids=lambda each: each.name)
def test_what_every_function_brings(each: Function) -> None:
    assert re.fullmatch(r"[a-z]\w*", each.name)
    assert each.signature.startswith(f"{each.name}(")
    assert each.summary.endswith(".")
    assert len({parameter.name for parameter in each.parameters}) == len(each.parameters)
    required = [parameter.default is None for parameter in each.parameters]
    assert isinstance(each, PlainMacro) or required == sorted(required, reverse=True), "what must be given comes first"


def test_udfs_are_listed_once() -> None:
    names = [udf.name for udf in registry.udfs()]
    assert len(names) == len(set(names)) > 0
