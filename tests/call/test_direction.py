"""The few words for which way a figure is good are also those of the plain macros."""

from __future__ import annotations

import re

from ppduck.call import plain_macros
from ppduck.call.direction import DIRECTIONS


def test_plain_macros_say_the_same_words() -> None:
    said = set(re.findall(r"(?:lower|higher) is \w+", plain_macros.text()))
    assert said
    assert said <= set(DIRECTIONS)
