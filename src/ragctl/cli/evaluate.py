"""``ragctl eval``: how good it is, measured on questions with known answers.

A command of the group is a function in a module of its own; here is its name and its example.
"""

from __future__ import annotations

from ragctl.cli import options
from ragctl.cli.eval_answers import answers
from ragctl.cli.eval_calibrate import calibration
from ragctl.cli.eval_from_feedback import from_feedback
from ragctl.cli.eval_history import history
from ragctl.cli.eval_lint import lint
from ragctl.cli.eval_make import make
from ragctl.cli.eval_retrieval import retrieval

app = options.command_app(
    "Measure with known questions what is found and answered.",
    is_group=True,
    epilog="Example: ragctl eval retrieval questions.jsonl",
)


@app.callback()
def evaluate() -> None:
    """Measure with known questions what is found and answered."""


app.command(epilog="Example: ragctl eval retrieval questions.jsonl --fail-under facts=0.8")(
    retrieval
)
app.command(epilog="Example: ragctl eval answers questions.jsonl --model llama3,mistral")(answers)
app.command(epilog="Example: ragctl eval history --file questions.jsonl --limit 5")(history)
app.command(epilog="Example: ragctl eval make --count 60 --output drafts.jsonl")(make)
app.command(epilog="Example: ragctl eval lint questions.jsonl")(lint)
app.command(
    "calibrate", epilog="Example: ragctl eval calibrate evidence.jsonl --test others.jsonl"
)(calibration)
app.command(epilog="Example: ragctl eval from-feedback --output readers.jsonl")(from_feedback)
