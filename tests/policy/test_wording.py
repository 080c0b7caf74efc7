"""What a line of a policy says, in words."""

from __future__ import annotations

import pytest

from ppduck.policy.document import of_python
from ppduck.policy.wording import said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("drop", "drop"),
        ({"pseudonym": "token"}, "pseudonym token"),
        ({"date": "shift", "per": "id", "within": 30}, "date shift, per id, within 30"),
        ({"recode": {"width": 5, "top": 85}}, "recode {width: 5, top: 85}"),
        ({"mask": "egadp"}, "mask egadp, nonconf [a, b], round true"),
        ({"mask": "shuffle"}, "mask shuffle"),
    ],
)
def test_a_line(line: object, words: str) -> None:
    masks = of_python({"egadp": {"nonconf": ["a", "b"], "round": True}}).value
    assert said(of_python(line), masks) == words
