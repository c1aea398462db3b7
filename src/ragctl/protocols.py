"""The seams: what a part must be able to do, one verb each.

Built-in parts are named by a word, others as ``package.module:Class``. The contract tests in
``tests/contracts`` tell the author of a new class whether it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ragctl.records.answers import Draft, Prompt
    from ragctl.records.cached import ContentState, KeptAnswer, NewAnswer
    from ragctl.records.chunks import Chunk
    from ragctl.records.evidence import CoveredTerm
    from ragctl.records.gateway import Permit, Place
    from ragctl.records.pages import Page, SourceFile
    from ragctl.records.search import Hit, Query
    from ragctl.records.traces import Trace
    from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector


class Slugger(Protocol):
    """Hands out the anchors of one page's headings as the site's generator does."""

    def slug(self, label: str) -> str:
        """Return the anchor of the next heading: never one that was handed out before."""

    def take(self, anchor: str) -> bool:
        """Reserve an anchor that the author wrote; return whether it was still free."""


@runtime_checkable
class SourceSlugger(Slugger, Protocol):
    """A slugger whose rule also looks at the heading as it is written, markup and all."""

    def slug_source(self, label: str, source: str) -> str:
        """Return the anchor of the next heading; called in place of ``slug``.

        ``source`` is the heading without its marks and without an attribute block; an underlined
        heading may have several lines.
        """


class Parser(Protocol):
    """Turns the bytes of a file into a page."""

    @property
    def signature(self) -> str:
        """What names its rules: pages parsed under another signature are parsed anew."""

    def parse(self, source: SourceFile, data: bytes) -> Page:
        """Return the page that a file holds; whatever the bytes are, nothing is raised."""


class Chunker(Protocol):
    """Cuts a page into passages."""

    @property
    def name(self) -> str:
        """The word that names it in settings and in the index."""

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """All that changes its result, as kept in the index."""

    def chunk(self, page: Page) -> tuple[Chunk, ...]:
        """Return the passages of ``page`` in order; the same page always gives the same ones."""


class Embedder(Protocol):
    """Turns texts into vectors of one model."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model, as pinned in the index."""

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one vector a text, in order; prefixes belong to the embedder.

        Vectors have ``identity.dimensions`` finite numbers and are not all zero. Raises
        :class:`~ragctl.errors.EmbeddingRefused` where the model refuses a text for what it is,
        and other :class:`~ragctl.errors.ModelError` where it cannot be used at all. Several
        threads may call it at once.
        """


class Retriever(Protocol):
    """Finds the passages for a question."""

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return at most ``query.k`` passages, best first, of the tracks asked for."""


class Coverage(Protocol):
    """Tells which terms of a question some passages hold."""

    def of(self, question: str, hits: Sequence[Hit]) -> Sequence[CoveredTerm]:
        """Return the terms of a question, those that no passage of the site holds included."""


class Generator(Protocol):
    """Writes an answer from a prompt."""

    @property
    def name(self) -> str:
        """The route, as shown to people: ``ollama/llama3``, ``extractive``."""

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Write the answer, handing each piece of text to ``on_text`` as it comes.

        A stream that breaks off after its first text gives a ``torn`` draft with what came;
        where nothing came, a :class:`~ragctl.errors.ModelError` is raised.
        """


class Breakers(Protocol):
    """Keeps the state of each route's breaker: after failures in a row it lets none through."""

    def permit(self, route: str, *, probe_seconds: float) -> Permit:
        """Return whether a route may be asked; of several who ask a half-open one, one may.

        A probe that has told nothing after ``probe_seconds`` is taken for lost.
        """

    def succeeded(self, route: str) -> None:
        """Close the breaker of a route that answered."""

    def failed(self, route: str, *, is_probe: bool, error: str) -> None:
        """Count a failure: too many in a row, or of the probe, open the breaker."""

    def released(self, route: str) -> None:
        """Give a probe back that was stopped before it came to an end."""


class QuestionVectors(Protocol):
    """Keeps the vectors of questions by the sha256 of their text, for one embedding model."""

    def known(self, question_hash: str) -> Vector | None:
        """Return the vector of a question, ``None`` where it is not known."""

    def served(self, question_hash: str) -> None:
        """Note that a vector saved a call of the model."""

    def remember(self, question_hash: str, vector: Vector) -> None:
        """Keep the vector of a question."""


class AnswerCache(Protocol):
    """Keeps answers, and gives one back only while what it was made from stands."""

    def content(self) -> ContentState:
        """Return which content there is now."""

    def find(self, *, scope: str, question_key: str) -> KeptAnswer | None:
        """Return the answer kept for a question, ``None`` where none may be given."""

    def nearest(
        self, *, scope: str, vector: Vector, at_least: float, at_most: int
    ) -> Sequence[KeptAnswer]:
        """Return kept answers to the questions nearest to a vector, nearest first.

        None has a cosine below ``at_least``.
        """

    def served(self, kept: KeptAnswer, *, counter: str) -> None:
        """Note that a kept answer was given, under the name of a counter."""

    def count(self, counter: str) -> None:
        """Count something once under a name."""

    def keep(self, new: NewAnswer) -> None:
        """Keep an answer, in the place of an earlier one to the same question."""


class Slots(Protocol):
    """A queue in front of the models: so many questions are answered at once, the rest waits."""

    def queue(self) -> None:
        """Stand in line, behind all who do."""

    def take(self, *, work_seconds: float) -> Place:
        """Take a slot where it is our turn, for so many seconds at most; else keep the place."""

    def release(self) -> None:
        """Give the slot back, or leave the line; harmless where neither was had."""


class Tracer(Protocol):
    """Keeps what became of a question, so that a bad answer can be followed back later."""

    def record(self, trace: Trace) -> None:
        """Keep one trace, whole; raises where that cannot be done, and leaves nothing then."""

    def keep_up(self, *, keep_days: int, keep_text_days: int) -> None:
        """Remove a few traces and texts that are older, now and then; 0 days mean for ever."""
