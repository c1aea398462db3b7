"""What goes wrong with each question of a soak: a plan that depends on seed and number alone."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from tests.ollama_server import Request

Group = Literal["routes", "openai", "implied", "named"]
Moment = Literal["start", "embed", "chat", "text"]
Strike = Literal["SIGKILL", "SIGTERM", "SIGINT", "database"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
SIGNALS: Final[tuple[Strike, ...]] = ("SIGKILL", "SIGTERM", "SIGINT")

TAGS_FAULTS: Final = ("503", "hang", "reset", "garbage", "missing", "slow head")
EMBED_FAULTS: Final = (
    *("503", "429", "500", "hang", "reset", "garbage", "wrong json", "cut", "missing"),
    *("slow head", "slow end", "short vectors", "zeros", "not finite", "long wait"),
)
CHAT_FAULTS: Final = (
    *("503", "429", "500", "long wait", "hang", "reset", "garbage", "wrong json", "missing"),
    *("slow head", "slow end", "hang after text", "reset after text", "half a line"),
    *("cut", "drip", "endless", "repetition", "no text", "error line"),
)
ASKED_AGAIN: Final = 40
_CASE: Final = re.compile(r"\(case (\d+)\)")
_WORDS: Final = ("limit", "bucket", "queue", "reader", "writer", "lock", "cache", "shard", "quorum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One question and what befalls it.

    ``faults`` are those of the model server, by place: ``tags``, ``embed``, ``chat`` and ``second``
    (the route after the first); each befalls the first ``times`` requests there. ``strike`` comes
    at ``moment``, or after ``delay_seconds`` where that is ``start``.
    """

    number: int
    seed: int
    group: Group
    question: str
    faults: Mapping[str, str]
    times: int = 99
    strike: Strike | None = None
    moment: Moment = "start"
    delay_seconds: float = 0.0
    as_json: bool = True
    options: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """What befalls it in a few words, for the table."""
        told = [f"{place}: {fault}" for place, fault in sorted(self.faults.items())]
        return (f"{self.strike} ({self.moment})" if self.strike else "; ".join(told)) or "none"

    @property
    def befalls(self) -> list[str]:
        """What befalls it, one by one."""
        return self.fault.split("; ")

    @property
    def arguments(self) -> list[str]:
        """The command line."""
        named = ["--model", "llama3"] if self.group == "named" else []
        return ["ask", self.question, *(["--json"] if self.as_json else []), *named, *self.options]

    def __str__(self) -> str:
        return f"call {self.number} of seed {self.seed} ({self.group}; {self.fault})"


def plan(number: int, *, seed: int) -> Plan:
    """Return the plan of a call; two in five have no fault, and many of these are asked again."""
    chance = random.Random(f"{seed} {number}")
    group = chance.choice(GROUPS)
    kind = chance.choices(("none", "chat", "embed", "tags", "signal", "database"), _WEIGHTS)[0]
    words = " and ".join(chance.sample(_WORDS, 2))
    question = f"What is said of {words}? (case {number})"
    options: tuple[str, ...] = chance.choice(
        (
            (),
            (),
            (),
            ("--refresh",),
            ("--no-cache",),
            ("--strict-citations",),
            ("--track", "track1"),
        )
    )
    if kind == "none" and chance.random() < 0.8:
        again = random.Random(chance.randrange(ASKED_AGAIN))
        question = f"What do pages say of {' and '.join(again.sample(_WORDS, 2))}?"
    if kind == "none" and chance.random() < 0.05:
        question = "How many pages are in track0?"
    return Plan(
        number=number,
        seed=seed,
        group=group,
        question=question,
        faults=_faults(kind, group, chance),
        times=chance.choice((1, 2, 99)),
        strike=_strike(kind, chance),
        moment=chance.choice(("start", "embed", "chat", "text")),
        delay_seconds=chance.uniform(0, 0.4),
        as_json=chance.random() < 0.85,
        options=options,
    )


_WEIGHTS: Final = (40, 26, 12, 5, 10, 7)


def _strike(kind: str, chance: random.Random) -> Strike | None:
    if kind == "signal":
        return chance.choice(SIGNALS)
    return "database" if kind == "database" else None


def _faults(kind: str, group: Group, chance: random.Random) -> dict[str, str]:
    if kind == "tags":
        return {"tags": chance.choice(TAGS_FAULTS)}
    if kind == "embed":
        return {"embed": chance.choice(EMBED_FAULTS)}
    if kind != "chat":
        return {}
    faults = {"chat": chance.choice(CHAT_FAULTS)}
    if group in ("routes", "openai") and chance.random() < 0.4:
        faults["second"] = chance.choice(CHAT_FAULTS)
    return faults


def case_of(request: Request) -> int | None:
    """Return the number of the call that a request belongs to, ``None`` where it has none."""
    user = request.headers.get("Authorization", "")
    if user.startswith("Basic "):
        import base64

        name = base64.b64decode(user[6:]).decode().partition(":")[0]
        return int(name.removeprefix("case"))
    texts = [*request.inputs, *(str(one) for one in request.body.get("messages", ()))]
    found = [number for text in texts for number in _CASE.findall(text)]
    return int(found[-1]) if found else None
