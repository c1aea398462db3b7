"""What can be set, section by section: defaults, meaning and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DAY = 86_400
MOST_DAYS = 36_500
MOST_TOKENS = 4_000_000
MOST_ROWS = 1_000_000_000
"""What settings end at: beyond it neither a timer, the database nor a model takes the number."""


def _setting(
    default: Any,
    about: str,
    *,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    is_path: bool = False,
) -> Any:
    metadata = {
        "about": about,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "is_path": is_path,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What is read, and how its pages are addressed."""

    name: str = _setting("default", "name of the site; each has a database of its own")
    root: str = _setting("", "content folder that `ragctl ingest` reads", is_path=True)
    tracks: tuple[str, ...] = _setting((), "tracks to read; empty means all")
    exclude: tuple[str, ...] = _setting((), "patterns of files to leave out, below the root")
    base_url: str = _setting("", "address of the published site, put before every link")
    url_style: str = _setting(
        "plain",
        "how pages are addressed: plain (/a/b), slash (/a/b/) or html (/a/b.html)",
        choices=("plain", "slash", "html"),
    )
    slugs: str = _setting(
        "github",
        "whose rules make the anchors of headings: github, hugo, hugo-source, docusaurus, "
        "mkdocs, mkdocs-unicode, or a class of your own as package.module:Class",
    )
    dist: str = _setting(
        "", "folder of the built site; with it set, `ragctl ingest` checks every link", is_path=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Where pages and passages are kept."""

    url: str = _setting("", "a PostgreSQL with pgvector; empty means the embedded server")
    data_dir: str = _setting("", "folder of the embedded server and models", is_path=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaSettings:
    """The Ollama server."""

    url: str = _setting("http://127.0.0.1:11434", "address of the Ollama server")
    connect_seconds: float = _setting(5.0, "time to connect", minimum=0.01, maximum=DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """The model that turns texts into vectors."""

    provider: str = _setting(
        "auto",
        "who embeds: auto, ollama, local, or openai for any server with that interface",
        choices=("auto", "ollama", "local", "openai"),
    )
    model: str = _setting("", "embedding model; empty means the provider's default")
    url: str = _setting("", "address of the server where the provider is openai")
    api_key_env: str = _setting(
        "", "name of the environment variable that holds the key of that server"
    )
    fallback_urls: tuple[str, ...] = _setting(
        (), "further addresses of the same embedding model, tried in order where one fails"
    )
    batch_size: int = _setting(32, "texts a request", minimum=1, maximum=1024)
    in_flight: int = _setting(2, "requests at once", minimum=1, maximum=64)
    timeout_seconds: float = _setting(300.0, "time for one request", minimum=0.01, maximum=DAY)
    threads: int = _setting(
        0, "threads of the embedded model; 0 means all cores", minimum=0, maximum=1024
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """The model that writes answers."""

    provider: str = _setting(
        "auto",
        "who writes: auto, ollama or extractive",
        choices=("auto", "ollama", "extractive"),
    )
    model: str = _setting("llama3", "model that writes the answer")
    prompt: str = _setting(
        "balanced",
        "prompt: balanced, strict, or the path of a file with a template of your own",
        choices=("balanced", "strict"),
        is_path=True,
    )
    num_ctx: int = _setting(4096, "context window in tokens", minimum=256, maximum=MOST_TOKENS)
    num_predict: int = _setting(512, "longest answer in tokens", minimum=1, maximum=MOST_TOKENS)
    prompt_tokens: int = _setting(
        1500,
        "longest prompt in tokens, by our own count; whole passages are left out",
        minimum=256,
        maximum=MOST_TOKENS,
    )
    first_token_seconds: float = _setting(
        120.0, "time to the first token", minimum=0.01, maximum=DAY
    )
    stall_seconds: float = _setting(
        30.0, "longest silence after the first token", minimum=0.01, maximum=DAY
    )
    total_seconds: float = _setting(300.0, "time for the whole answer", minimum=0.01, maximum=DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """How the routes to an answer share the time, and whom a checkout may name."""

    budget_seconds: float = _setting(
        300.0, "time for one answer over all routes and retries", minimum=0.01, maximum=DAY
    )
    retries: int = _setting(
        1, "how often a route is asked again after an error that may clear", minimum=0, maximum=5
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "hosts of model servers and databases that a ragctl.toml may name beside this machine; "
        "not to be set in a ragctl.toml",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingSettings:
    """How pages are cut into passages."""

    chunker: str = _setting(
        "structured",
        "how to cut: structured, fixed or window",
        choices=("structured", "fixed", "window"),
    )
    size: int = _setting(
        1300,
        "passage size in characters; unset, fixed takes 800 and window 400 words",
        maximum=1_000_000,
    )
    overlap: int = _setting(
        0,
        "characters (window: words) carried over; unset, fixed takes 100; structured has none",
        minimum=0,
        maximum=1_000_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """How passages are found."""

    mode: str = _setting(
        "hybrid",
        "what finds passages: hybrid, vector (the nearest alone) or keyword (needs no model)",
        choices=("hybrid", "vector", "keyword"),
    )
    k: int = _setting(5, "passages for an answer", minimum=1, maximum=100)
    least_share: float = _setting(
        0.65,
        "hybrid: the last passages, below this share of the best score, are not sent; unset, only "
        "with an embedding model that is calibrated",
        minimum=0.0,
        maximum=1.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """What is looked for in every answer, and what of it withholds one."""

    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "hosts an answer may name although neither the site nor a passage does; "
        "*.host allows all below one",
    )
    block: tuple[str, ...] = _setting(
        (),
        "problems that withhold an answer: foreign_host, instructions, no_citation, unsupported; "
        "secret masks secrets",
        choices=("foreign_host", "secret", "instructions", "no_citation", "unsupported"),
    )
    strict_citations: bool = _setting(
        False, "leave out of an answer what the check found to have no support"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What is kept so that it need not be computed again."""

    answers: str = _setting(
        "on",
        "on: an answer is given again while what it was made from stands; "
        "needs traces.record = on, for it keeps texts",
        choices=("on", "off"),
    )
    answer_days: int = _setting(
        7, "days after which an answer is written anew", minimum=1, maximum=MOST_DAYS
    )
    most_answers: int = _setting(1000, "answers kept at most", minimum=1, maximum=MOST_ROWS)
    embeddings: str = _setting(
        "on",
        "on: the vector of a question is kept, under a hash of its text",
        choices=("on", "off"),
    )
    embedding_days: int = _setting(
        90, "days after which a vector that was not used is dropped", minimum=1, maximum=MOST_DAYS
    )
    most_embeddings: int = _setting(
        10_000, "vectors of questions kept at most", minimum=1, maximum=MOST_ROWS
    )
    semantic: str = _setting(
        "off",
        "what a question close to an earlier one is worth: off, hint (says so) "
        "or answer (gives the answer to that one)",
        choices=("off", "hint", "answer"),
    )
    threshold: float = _setting(
        0.8, "least cosine of a question that may be the same", minimum=0.5, maximum=1.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesSettings:
    """What is kept of the questions that were asked."""

    record: str = _setting(
        "on",
        "what `ragctl trace` can show later: on, numbers (scores and durations, no texts) or off",
        choices=("on", "numbers", "off"),
    )
    keep_days: int = _setting(
        90, "days a trace is kept; 0 means for ever", minimum=0, maximum=MOST_DAYS
    )
    keep_text_days: int = _setting(
        30,
        "days its texts are kept: question, prompt, answer; 0 means as long as the trace",
        minimum=0,
        maximum=MOST_DAYS,
    )
    sample: float = _setting(
        1.0,
        "share of ordinary answers whose texts are kept; failed, slow, refused and flagged ones "
        "always keep them",
        minimum=0.0,
        maximum=1.0,
    )
    slow_ms: float = _setting(
        10000.0, "milliseconds over which an answer counts as slow", minimum=0.0, maximum=DAY * 1000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSettings:
    """How many may ask at once, and how often."""

    generations: int = _setting(
        0,
        "answers that models write at once, over all processes of a database; further questions "
        "wait in line; 0 means any number",
        minimum=0,
        maximum=MOST_ROWS,
    )
    queue_seconds: float = _setting(
        60.0, "longest wait in that line; then the passages are quoted", minimum=0.0, maximum=DAY
    )
    questions_per_minute: int = _setting(
        0, "questions a user may ask in a minute; 0 means any number", minimum=0, maximum=MOST_ROWS
    )
    user: str = _setting("", "whose questions these are; empty means the user of this machine")


SECTIONS: dict[str, type[Any]] = {
    "site": SiteSettings,
    "database": DatabaseSettings,
    "ollama": OllamaSettings,
    "embedding": EmbeddingSettings,
    "generation": GenerationSettings,
    "gateway": GatewaySettings,
    "chunking": ChunkingSettings,
    "retrieval": RetrievalSettings,
    "checks": CheckSettings,
    "cache": CacheSettings,
    "traces": TracesSettings,
    "limits": LimitsSettings,
}
