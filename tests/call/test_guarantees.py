"""A promise is asked for by its value; users read its sentence."""

from __future__ import annotations

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise, always
from ppduck.call.parameters import Call
from ppduck.call.registry import Function
from ppduck.query import tree as sql


def test_a_promise_holds_for_the_calls_it_names() -> None:
    exact = Guarantee(Promise.MOMENTS, "with variant 1: exact", lambda call: call == 1)
    function = Function("f", Call, lambda catalog, call: sql.null(), "", "", keeps=(exact,))
    assert function.promises(Promise.MOMENTS, 1)
    assert not function.promises(Promise.MOMENTS, 2)
    assert not function.promises(Promise.VALUES, 1)
    assert (function.kept(1), function.kept(2)) == ([exact], [])


def test_a_loss_is_that_of_the_calls_it_names() -> None:
    moved = Loss(LossKind.MOMENTS, "with variant 2: exact sums", lambda call: call == 2)
    function = Function("f", Call, lambda catalog, call: "", "", "", loses=(moved,))
    assert (function.lost(1), function.lost(2)) == ([], [moved])
    assert function.promised() == ([], ["with variant 2: exact sums"])


def test_sentences() -> None:
    kept, lost = Guarantee(Promise.VALUES, "the values"), Loss(LossKind.ORDER, "the order")
    assert (str(kept), str(lost)) == ("the values", "the order")
    assert kept.when is lost.when is always
    assert always(None)
