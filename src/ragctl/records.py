"""The records that travel between stages: frozen, typed, without behaviour that touches the world.

Offsets are 0-based code points in ``Page.text``; lines are 1-based lines of the source file;
durations are milliseconds; vectors are float32 and have the dimensions of their index.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal, TypeAlias

Vector: TypeAlias = "array[float]"
"""A float32 vector as ``array("f")``: 4 bytes a number, and no numpy needed to hold it."""

DIMENSIONS = 768
ROOT_TRACK = "root"

Purpose = Literal["document", "query"]
Finish = Literal["stop", "length", "repetition", "torn"]
UrlStyle = Literal["plain", "slash", "html"]
LinkFault = Literal["page missing", "anchor missing", "other heading"]
Support = Literal["", "supported", "weak", "unsupported", "misattributed"]
EvidenceVerdict = Literal["", "strong", "weak", "not covered"]
Verdict = Literal["supported", "weak", "unsupported", "misattributed", "uncited"]
SpanValue: TypeAlias = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of the site, found but not yet read.

    ``path`` is relative to the content root with ``/`` between parts; ``url`` is the page's
    address below the site; ``is_landing`` says that it introduces a folder of other pages.
    """

    path: str
    absolute: Path
    url: str
    track: str
    is_landing: bool
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that gives no page or no passages, and why.

    ``intended`` is true for what the user or the site's own marks leave out (draft, exclude,
    landing page): those are counted and do not fail a run.
    """

    path: str
    reason: str
    intended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a page: where its line starts in the text, and the anchor the site gives it."""

    label: str
    level: int
    anchor: str
    start_char: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Source lines that no passage will hold, first to last inclusive, and their class.

    Classes: ``front_matter``, ``svg``, ``comment``, ``shortcode``, ``jsx``, ``tag``,
    ``underline`` (of a setext heading), ``data_uri``, ``blank``.
    """

    first_line: int
    last_line: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as parsed.

    ``text`` is what passages are cut from: front matter, SVG, comments, known formatting tags
    and site-generator syntax removed, everything else to the byte. ``source_lines[i]`` is the
    1-based source line of the i-th line of ``text`` (split on ``\\n``). ``order`` sorts a track
    into reading order. ``sha256`` is of the file's bytes.
    """

    url: str
    track: str
    title: str
    source_path: str
    sha256: str
    text: str
    front_matter: Mapping[str, object]
    is_landing: bool
    is_draft: bool
    order: tuple[float, str]
    headings: tuple[Heading, ...]
    source_lines: tuple[int, ...]
    removals: tuple[Removal, ...] = ()
    warnings: tuple[str, ...] = ()
    size_bytes: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage: the unit that is embedded, found and cited.

    ``ref`` is ``<url>#c<start_char>`` and can be inverted to the place in ``Page.text``.
    ``section`` is the label of the heading in force, or ``None`` before the first heading.
    ``breadcrumb`` is the path of headings, joined with `` > ``, that goes into what is embedded
    and not into ``body``.
    """

    url: str
    track: str
    position: int
    ref: str
    section: str | None
    anchor: str | None
    breadcrumb: str
    start_char: int
    end_char: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedChunk:
    """A passage with its vector; ``content_hash`` is the sha256 of the text that was embedded."""

    chunk: Chunk
    vector: Vector
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChunk:
    """A passage that the embedding model would not take, and why; ``path`` is its source file."""

    chunk: Chunk
    reason: str
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingIdentity:
    """Which model made a vector: vectors of two identities are never compared.

    ``digest`` is the model file's, empty where a server does not tell.
    """

    provider: str
    model: str
    digest: str
    dimensions: int
    document_prefix: str
    query_prefix: str

    @property
    def label(self) -> str:
        """``provider/model``, as shown to people."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexIdentity:
    """What an index was made with: the embedding model, and the chunker with its parameters."""

    embedding: EmbeddingIdentity
    chunker: str
    chunker_parameters: Mapping[str, int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question on its way to the passages; no tracks and no pages mean all of them.

    ``vector`` is empty where the question was not embedded; ``pages`` are addresses.
    """

    text: str
    vector: Vector
    tracks: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    k: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found: ``n`` counts from 1 in the order of ``score``, best first.

    ``vector_score`` is the cosine similarity, -1 to 1, ``None`` where the question was not
    embedded; ``keyword_score`` is the share of the best keyword score, 0 to 1, ``None`` where no
    keyword search took part. ``named`` says that it was brought in for a name of the question that
    hardly any passage holds.
    """

    n: int
    chunk_id: int
    ref: str
    url: str
    title: str
    track: str
    section: str | None
    anchor: str | None
    body: str
    start_char: int
    end_char: int
    source_path: str
    score: float
    vector_score: float | None
    keyword_score: float | None = None
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TermShare:
    """What a term of the question adds to the keyword score of a passage that holds it.

    ``passages`` counts those that hold it, ``idf`` is its weight, ``share`` its part of the sum
    before that is divided by the best one; ``is_name`` says that it is an exact name there.
    """

    chunk_id: int
    term: str
    passages: int
    idf: float
    share: float
    is_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredTerm:
    """A term of a question: how many passages hold it, and the ids of those found that do.

    ``idf`` is its weight, largest for a term that no passage holds; ``is_name`` says that it
    stands for an exact name.
    """

    term: str
    passages: int
    idf: float
    is_name: bool
    held_by: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How likely it is that the passages found can answer a question.

    ``top_cosine`` is the largest raw cosine among them, ``None`` where the question was not
    embedded; ``idf_share`` the share of the question's idf that they hold, 0 to 1; ``best_match``
    the largest product of cosine and share that one of them has. ``probability`` is ``None`` where
    nothing was calibrated for the embedding model of the index; then ``verdict`` is empty.
    ``rare_name`` is the rarest name of the question that stands in the site, where it stands in few
    passages: the verdict is never ``not covered`` then; ``named_in`` is the number of the first
    passage found that holds it, 0 for none.
    """

    top_cosine: float | None
    idf_share: float
    best_match: float
    probability: float | None = None
    verdict: EvidenceVerdict = ""
    rare_name: str = ""
    named_in: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How evidence becomes a probability for one embedding model: a logistic regression.

    The log odds are ``bias + cosine * top_cosine + match * best_match`` with the features of
    :class:`Evidence`. Below ``not_covered`` the passages are said not to
    cover a question, below ``weak`` to be weak evidence. ``questions`` is how many it was fitted
    on.
    """

    embedding_model: str
    bias: float
    cosine: float
    match: float
    not_covered: float = 0.45
    weak: float = 0.65
    questions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The exact string sent to a model, and the passages numbered in it.

    ``tokens`` are by our own count; ``crowded_out`` counts passages that would have been sent had
    there been room.
    """

    text: str
    question: str
    template: str
    passages: tuple[Hit, ...]
    tokens: int = 0
    crowded_out: int = 0
    evidence: Evidence | None = None
    about_site: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a generator wrote, before any check.

    ``finish`` says how it ended; a ``torn`` draft has its reason in ``error``; ``declined`` says
    that the generator itself knows it for a refusal. Counts and durations are ``None`` where the
    server did not report them. ``attempts`` are the routes that were tried for it, empty where
    there was but one, ``problems`` what came of them, and ``cost_usd`` is ``None`` where no price
    is known. ``queue_ms`` is the wait for a free slot, ``None`` where none was needed.
    """

    text: str
    route: str
    finish: Finish
    error: str = ""
    written_by_model: bool = True
    declined: bool = False
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    queue_ms: float | None = None
    attempts: tuple[Attempt, ...] = ()
    problems: tuple[Problem, ...] = ()
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source of an answer: one page and section, numbered as printed.

    ``passages`` are the numbers of the passages it stands for; ``link`` is an address, or the
    path below the site where the site's address is not set.
    """

    n: int
    title: str
    url: str
    section: str | None
    anchor: str | None
    link: str
    source_path: str
    passages: tuple[int, ...]
    support: Support = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An asserting sentence of an answer, the passages it cites, and what the check found."""

    text: str
    cites: tuple[int, ...]
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something a reader of the answer must know, as a code and as a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at getting an answer written: which route, how it ended, how long it took.

    ``outcome`` is ``answered``, ``length`` (cut by its limit), ``repetition``, ``torn`` or what
    stopped it: ``http 503``, ``timeout (first token)``, ``connection refused``, ``breaker open``;
    ``error`` is that in a sentence. ``start_ms`` counts from the moment the first route was asked,
    ``first_token_ms`` from that of this try. ``model`` is empty and figures are ``None`` where they
    are not known.
    """

    route: str
    outcome: str
    ms: float
    start_ms: float = 0.0
    model: str = ""
    error: str = ""
    first_token_ms: float | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Whether a route, or a user, may ask now; ``is_probe`` where it is the one let through.

    ``seconds_left`` is the time until the next question may go, 0 where this one may.
    """

    may_go: bool
    is_probe: bool = False
    seconds_left: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A question's place in front of the models: whether it may go, who ahead waits or works."""

    is_taken: bool
    waiting: int = 0
    working: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """How a route has fared of late, for all who share the database.

    ``seconds_open`` is ``None`` while the breaker is closed; ``seconds_left`` counts down to the
    next probe. ``failures`` are those in a row.
    """

    route: str
    failures: int
    seconds_open: float | None
    seconds_left: float
    is_probing: bool
    last_error: str
    updated_at: datetime | None = None

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """``half-open`` once the next question may probe the route, or one does."""
        if self.seconds_open is None:
            return "closed"
        return "half-open" if self.is_probing or self.seconds_left <= 0 else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where the time of one answer went, in milliseconds; ``None`` where it is not known.

    ``queue`` is the wait for a free slot: time of others, and no model's.
    """

    embed: float | None = None
    search: float | None = None
    queue: float | None = None
    prefill: float | None = None
    decode: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with all that is needed to check it.

    A refusal has no sources but the pages that come nearest in ``nearest``; ``beneath`` quotes the
    passages where a model refused although they very probably hold the answer. What was withheld
    from the reader stays in ``original``, for the trace alone. ``strict`` is the text without the
    statements in ``left_out``, empty where none of it holds and ``None`` where nobody asked for
    that.
    A ``cached`` answer was written before, ``cached_seconds`` ago; ``cached_question`` is the
    question it was written for where that was another one.
    """

    question: str
    text: str
    refused: bool
    degraded: bool
    finish: Finish
    citations: tuple[Citation, ...]
    passages: tuple[Hit, ...]
    problems: tuple[Problem, ...]
    route: str
    attempts: tuple[Attempt, ...]
    prompt: Prompt
    prompt_tokens: int | None
    output_tokens: int | None
    timings: Timings
    claims: tuple[Claim, ...] = ()
    evidence: Evidence | None = None
    nearest: tuple[Citation, ...] = ()
    beneath: str = ""
    withheld: bool = False
    original: Answer | None = None
    strict: str | None = None
    left_out: tuple[Claim, ...] = ()
    cached: bool = False
    cached_at: datetime | None = None
    cached_seconds: float | None = None
    cached_question: str = ""
    cost_usd: float | None = None
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentState:
    """Which content there is: the largest id of a passage, and how many passages there are.

    Ids are never used twice, so contents with both the same are the same.
    """

    last_chunk_id: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """An answer on its way into the cache.

    ``scope`` stands for all but the question that decides on an answer, ``question_key`` for the
    question; ``document`` is the answer. It may be given again while the passages ``chunk_ids``
    are there, and with ``on_any_change`` only while ``content`` is what it was. ``vector`` is that
    of the question, empty where it is not known.
    """

    scope: str
    question_key: str
    question: str
    document: Mapping[str, object]
    chunk_ids: tuple[int, ...]
    on_any_change: bool
    content: ContentState
    vector: Vector
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer that may be given again; ``cosine`` is to the question asked, where it was close.

    ``trace_id`` is that of the question it was written for, empty where no trace was kept.
    """

    scope: str
    question_key: str
    question: str
    document: Mapping[str, object]
    trace_id: str
    cached_at: datetime
    age_seconds: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """What a cache holds: entries, how often those served, since when, and how large it is.

    ``usable`` counts the entries that may still serve, ``None`` where all may.
    """

    entries: int
    hits: int
    oldest: datetime | None
    size_bytes: int
    usable: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounter:
    """How often something happened to a cache, and since when that is counted."""

    name: str
    counted: int
    since: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as it stands in the database, with what it takes to see whether it changed."""

    id: int
    url: str
    track: str
    title: str
    position: int
    source_path: str
    sha256: str
    parsed_with: str
    is_landing: bool
    is_draft: bool
    size_bytes: int
    mtime_ns: int
    words: int
    refused: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far an ingest is; a new one is handed out after every batch and page."""

    pages: int = 0
    pages_unchanged: int = 0
    pages_parsed: int = 0
    pages_stored: int = 0
    bytes: int = 0
    bytes_stored: int = 0
    passages_cut: int = 0
    passages_embedded: int = 0
    passages_reused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSummary:
    """A site on the embedded server; ``content_root`` is ``None`` where nothing was ingested."""

    name: str
    content_root: str | None
    pages: int
    passages: int
    model: str | None
    ingested_at: datetime | None
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """What one stored page gave at each stage: bytes, characters, passages refused and stored."""

    id: int
    url: str
    track: str
    title: str
    source_path: str
    is_landing: bool
    size_bytes: int
    characters: int
    refused: int
    stored: int

    @property
    def passages(self) -> int:
        """How many passages were made of it."""
        return self.stored + self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSummary:
    """What one track holds after an ingest, and what the ingest did to it.

    ``pages`` counts pages with text of their own, not landing pages; ``embedded`` the passages
    sent to the model in this run; ``left_out`` files that gave no page or no passages.
    """

    track: str
    pages: int = 0
    passages: int = 0
    embedded: int = 0
    stored: int = 0
    unchanged: int = 0
    removed: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """What one run did: pages written, passages cut and embedded, files left out."""

    pages: int
    passages: int
    embedded: int
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """What an ingest did to the part of the site it covered.

    ``seconds`` maps ``read``, ``parse``, ``chunk``, ``embed``, ``store`` and ``total`` to time
    spent in each; ``refused`` are passages without a vector.
    """

    root: str
    embedding: str
    tracks: tuple[TrackSummary, ...]
    left_out: tuple[LeftOut, ...]
    refused: tuple[RefusedChunk, ...]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]

    @property
    def has_findings(self) -> bool:
        """True where something was left out that should not have been."""
        return bool(self.refused) or any(not left.intended for left in self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChanges:
    """Files that no longer match what was ingested, by path."""

    edited: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many files differ."""
        return len(self.edited) + len(self.added) + len(self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStyle:
    """Where links point: the site's address, empty for paths alone, and the form of its paths."""

    base_url: str = ""
    url_style: UrlStyle = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLink:
    """A link that can be printed: a page, or with ``anchor`` a section of it and its label."""

    url: str
    source_path: str
    anchor: str | None
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLink:
    """A link that does not land on the built site.

    ``link`` is what is printed, below the site; ``fault`` says that the page is not there, that
    the anchor is not on it, or that it belongs to another heading. ``hint`` names what is there
    instead, empty where nothing resembles it.
    """

    url: str
    anchor: str | None
    section: str | None
    source_path: str
    link: str
    fault: LinkFault
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReport:
    """What came of following every stored link on the built site in the folder ``dist``.

    ``checked`` counts pages and sections; the sections of a missing page are dead as well.
    """

    dist: str
    checked: int
    dead: tuple[DeadLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The stored text of a page, and what traces it to its source.

    ``source_lines`` and ``sha256`` are those of :class:`Page`.
    """

    id: int
    url: str
    track: str
    title: str
    source_path: str
    sha256: str
    is_landing: bool
    text: str
    source_lines: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A passage as it stands in the database; ``content_hash`` is of the text once embedded."""

    id: int
    chunk: Chunk
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRank:
    """Where a passage stands among all of the tracks searched, counted exactly from 1.

    ``chunk_id``, ``rank`` and ``score`` are ``None`` where none of the passages asked about lies
    in those tracks; ``score_at_k`` where there are fewer than k.
    """

    chunk_id: int | None
    rank: int | None
    score: float | None
    among: int
    score_at_k: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRanks:
    """Where passages stand by nearness, by words, and by both, each for the best of them.

    Where the question was not embedded ``by_nearness`` and ``by_both`` rank nothing; ``by_words``
    ranks the passages that hold a word of it. ``searched`` counts those asked about in the tracks
    searched, ``passages`` all in these; ``is_reached`` tells whether an arm of hybrid search brings
    in the best by both.
    """

    by_nearness: PassageRank
    by_words: PassageRank
    by_both: PassageRank
    searched: int
    passages: int
    is_reached: bool

    def in_mode(self, mode: str) -> PassageRank:
        """Return the ranking that decides in a mode: ``hybrid``, ``vector`` or ``keyword``."""
        ranking = {"vector": self.by_nearness, "keyword": self.by_words}
        return ranking.get(mode, self.by_both)


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthRecall:
    """How an approximate index does at one width: how many candidates a search keeps.

    ``recall`` is the share of the true nearest that it finds, ``median_ms`` what a search takes.
    """

    width: int
    recall: float
    median_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFigures:
    """An approximate index held against the exact scan, width by width.

    ``source`` says what was searched for: ``traces`` (questions that were asked), ``file``
    (questions of a file) or ``passages`` (their own vectors, each left out of what is found).
    """

    source: str
    questions: int
    k: int
    exact_ms: float
    widths: tuple[WidthRecall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it was put: when, of which tracks and pages, how it was to be answered.

    ``mode`` is what was to find passages.
    """

    question: str
    at: datetime
    tracks: tuple[str, ...]
    k: int
    mode: str
    embedding_model: str
    template: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A step on the way to an answer, inside of another: a trace's spans are a tree, as a list.

    ``parent`` is the place of the step it is part of, counted from 0, and ``None`` for the root;
    milliseconds count from the beginning of the root. ``attributes`` never hold a text of the user
    or of a model; ``error``, the sentence of what went wrong, goes where texts are not kept.
    """

    name: str
    start_ms: float
    duration_ms: float
    attributes: Mapping[str, SpanValue]
    parent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which traces are looked for.

    ``prefix`` is what their ids begin with, ``since`` the first moment. Of the four kinds, traces
    of any that is asked for are meant, all where none is: ``slow_ms`` those that took longer,
    ``flagged`` those with a problem, ``refused``, and ``failed`` those without a whole answer.
    """

    prefix: str | None = None
    since: datetime | None = None
    slow_ms: float | None = None
    flagged: bool = False
    refused: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedHit:
    """A passage as it was found for a question, and how far it came.

    ``named`` is that of :class:`Hit`, false in traces that were kept before it was.
    """

    rank: int
    chunk_id: int
    ref: str
    section: str | None
    score: float
    vector_score: float | None
    keyword_score: float | None
    in_prompt: bool
    cited: bool
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What became of one question.

    ``question``, ``prompt`` and ``answer`` are ``None`` where texts are not kept, the last two also
    where it did not come to them. ``top_cosine``, ``idf_share`` and ``probability`` are those of
    :class:`Evidence`; ``prompt_counted`` is ``Prompt.tokens``. ``error_code`` and ``error_message``
    say why there is no answer; ``finish`` is then ``failed``. ``mode`` is what found passages,
    ``None`` where the list of pages had the answer, and in traces that were kept before there was a
    choice.
    """

    id: str
    asked_at: datetime
    question: str | None
    tracks: tuple[str, ...]
    k: int
    embedding_model: str
    route: str
    template: str
    prompt: str | None
    answer: str | None
    finish: str
    refused: bool
    degraded: bool
    problems: tuple[Problem, ...]
    hits: tuple[TracedHit, ...]
    citations: tuple[Citation, ...]
    prompt_tokens: int | None
    output_tokens: int | None
    timings: Timings
    spans: tuple[Span, ...]
    top_cosine: float | None = None
    idf_share: float | None = None
    probability: float | None = None
    prompt_counted: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    mode: str | None = None
    pages: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run over a file of questions, as it is stored.

    ``kind`` is what was measured, ``retrieval`` or ``answers``; ``label`` what was tried: the mode
    of the search, the route that wrote. ``figures`` are those of all questions by name, ``None``
    where no question counts.
    """

    id: str
    at: datetime
    kind: str
    file: str
    file_sha256: str
    label: str
    k: int
    embedding_model: str
    chunker: str
    chunker_parameters: Mapping[str, int | str]
    passages: int
    program_version: str
    questions: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEvaluation:
    """A stored run, and the one before it of the same questions, kind, label and k, if any."""

    run: Evaluation
    before: Evaluation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Whole days (UTC): from ``since`` to the one before ``until``."""

    since: date
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRow:
    """What can be counted of some questions: those of a day, a track, a route, or all.

    Times are medians in milliseconds, but for ``p95_ms``; ``p50_ms`` and ``p95_ms`` are those of
    questions that got an answer. ``prompt_tokens`` and ``output_tokens`` are sums. ``top_cosine``
    and ``probability`` are medians over the ``embedded`` questions of one embedding model. ``None``
    stands where nothing is known.
    """

    key: str
    questions: int
    answered: int = 0
    refused: int = 0
    extractive: int = 0
    incomplete: int = 0
    failed: int = 0
    stopped: int = 0
    flagged: int = 0
    fallbacks: int = 0
    cached: int = 0
    good: int = 0
    bad: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    compute_ms: float | None = None
    waiting_ms: float | None = None
    embed_ms: float | None = None
    search_ms: float | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    top_cosine: float | None = None
    probability: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prompt_tokens_median: float | None = None
    output_tokens_median: float | None = None
    embedded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FarQuestion:
    """A question whose best passage was far away; ``question`` is ``None`` if it was not kept."""

    day: str
    id: str
    question: str | None
    top_cosine: float
    top_ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BelowBound:
    """How many questions of a day had a probability of an answer, and how many a low one."""

    day: str
    questions: int
    below: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UncoveredQuestion:
    """A question that the site did not answer well, and why it counts as one.

    ``reason`` is ``refused``, ``not covered`` or ``weakly supported``; ``pages`` are those of its
    passages, best first; ``words`` pairs of a stem and the word as it was asked.
    """

    id: str
    question: str
    reason: str
    pages: tuple[str, ...]
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteUsage:
    """What a route wrote: answers, those with counted tokens, and these tokens."""

    route: str
    answers: int
    counted: int
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteAttempts:
    """How often a route was tried, wrote, and was left alone for its breaker was open."""

    route: str
    attempts: int
    answered: int
    breaker_open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What somebody said of an answer; question and answer are ``None`` where they were not kept.

    ``cited`` are the places that the answer cites: page, and section if there is one.
    """

    trace_id: str
    good: bool
    note: str
    at: datetime
    question: str | None = None
    answer: str | None = None
    cited: tuple[tuple[str, str | None], ...] = ()
