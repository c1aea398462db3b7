"""How the settings have a question answered."""

from __future__ import annotations

from ragctl.settings import Settings, read
from ragctl.stages.evidence import BUILT_IN
from ragctl.wiring.answers import answer_options

CALIBRATED = "local/all-MiniLM-L6-v2-int8"


def test_the_share_of_the_best_holds_for_calibrated_models_and_where_it_was_set() -> None:
    assert answer_options(Settings(), embedding_model=CALIBRATED).least_share == 0.65
    assert answer_options(Settings(), embedding_model="ollama/other").least_share == 0.0
    given = read(flags={"retrieval.least_share": 0.3}, environ={})
    assert answer_options(given, embedding_model="ollama/other").least_share == 0.3


def test_the_calibration_that_ships_needs_no_database() -> None:
    found = answer_options(Settings(), embedding_model=CALIBRATED)
    assert found.calibration == BUILT_IN[CALIBRATED]
    assert answer_options(Settings(), embedding_model="ollama/other").calibration is None
