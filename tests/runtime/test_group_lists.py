"""Lists of a group as rows by columns, and back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.runtime.group_lists import GroupLists, flattened, noise_of
from ppduck.runtime.spec import MaskSpec

Spec = Callable[..., MaskSpec]


def test_columns_are_in_the_order_of_their_names(spec: Spec) -> None:
    flat = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0])
    group = GroupLists("bank = 3", "secret", 1, flat).of(spec("onn_mask", conf=["x", "N"]))
    assert group.names == ["N", "x"]
    np.testing.assert_array_equal(group.values, [[1, 10], [2, 20], [3, 30]])
    np.testing.assert_array_equal(flattened(group.values), flat)
    assert group.where == " in the group bank = 3"
    with pytest.raises(PpduckError, match=r'^onn_mask on "t": no'):
        raise group.refuse("no")


def test_no_rows_are_no_values(spec: Spec) -> None:
    assert GroupLists(None, "secret", 1, None).of(spec("onn_mask")).values.shape == (0, 1)


def test_chance_is_of_the_group_and_the_release() -> None:
    keys = np.arange(3, dtype=np.uint64)
    one, same, other = (noise_of(secret).words(keys, keys, 1) for secret in ("a", "a", "b"))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
