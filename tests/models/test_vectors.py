"""Which vectors can be compared."""

from __future__ import annotations

import math
from array import array

import pytest

from ragctl.models.vectors import fault_of


@pytest.mark.parametrize(
    ("numbers", "fault"),
    [
        ([0.6, 0.8], ""),
        ([1e-10, 0.0], ""),
        ([0.0, 0.0], "a vector of zeros"),
        ([math.nan, 1.0], "NaN or infinity in a vector"),
        ([math.inf, math.nan], "NaN or infinity in a vector"),
        ([1e-30, 0.0], "a vector of length 1e-30, whose cosine cannot be computed"),
        ([1e30, 1e30], "a vector of length 1e+30, whose cosine cannot be computed"),
    ],
)
def test_a_vector_whose_cosine_cannot_be_computed_is_told(numbers: list[float], fault: str) -> None:
    assert fault_of(array("f", numbers)) == fault
