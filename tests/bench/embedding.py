"""The embedded model against fastembed alone, and several requests in flight against one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from ragctl import wiring
from ragctl.models.local import LocalEmbedder, local_available, prepare_offline_model
from ragctl.models.ollama import OllamaClient, OllamaEmbedder
from ragctl.records.chunks import Chunk
from ragctl.stages.embed import embed, embedded_text
from tests.bench.figures import Absolute, Measured, Ratio, interleaved, wall_ms
from tests.bench.pages import cut_handbook, shipped_settings
from tests.bench.rig import Rig
from tests.ollama_server import OllamaServer, Reply, Request, embeddings

BATCHES: Final = (1, 8, 32)
TEXTS: Final = 48
SERVER_SECONDS: Final = 0.05
IN_FLIGHT: Final = (1, 2, 4)
BATCH_SIZE: Final = 8


def measure(rig: Rig) -> Measured:
    """Return both; the embedded model is skipped, and that said, where it is not installed."""
    passages = cut_handbook(wiring.make_chunker(shipped_settings()))
    flying = _in_flight(passages)
    state = local_available()
    if not state.usable:
        remark = f"the embedded model: skipped, {state.reason}"
        return Measured(ratios=flying.ratios, absolutes=flying.absolutes, remarks=(remark,))
    local = _local(rig, [embedded_text(passage) for passage in passages])
    return Measured(
        ratios=(*local.ratios, *flying.ratios), absolutes=(*local.absolutes, *flying.absolutes)
    )


def _local(rig: Rig, texts: Sequence[str]) -> Measured:
    """Compare by the CPU time of all threads of this process, for two cores may be shared."""
    spread = list(texts[:: max(1, len(texts) // TEXTS)][:TEXTS])
    folder = rig.base / "models"
    ours, theirs = LocalEmbedder(folder), _fastembed(str(prepare_offline_model(folder)))
    variants: dict[str, Callable[[int], object]] = {
        "ragctl": lambda _number: ours.embed(spread, purpose="document"),
        **{f"fastembed, batches of {size}": _batched(theirs, spread, size) for size in BATCHES},
    }
    times = interleaved(variants, rounds=3, clock=_cpu_ms)
    best = min(times[f"fastembed, batches of {size}"] for size in BATCHES)
    return Measured(
        ratios=(
            Ratio(
                name="embedded model: ragctl / fastembed's best batch, cpu",
                value=times["ragctl"] / best,
                wanted=1.2,
            ),
        ),
        absolutes=tuple(
            Absolute(
                name=f"embedded model: {name}",
                value=1000 * len(spread) / took,
                unit="passages/CPU s",
            )
            for name, took in times.items()
        ),
    )


def _fastembed(folder: str) -> Any:
    from fastembed import TextEmbedding

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return TextEmbedding(
        "sentence-transformers/all-MiniLM-L6-v2",
        specific_model_path=folder,
        cache_dir=folder,
        local_files_only=True,
    )


def _batched(model: Any, texts: list[str], size: int) -> Callable[[int], object]:
    return lambda _number: list(model.embed(texts, batch_size=size))


def _cpu_ms() -> float:
    used = os.times()
    return (used.user + used.system) * 1000


def _in_flight(passages: Sequence[Chunk]) -> Measured:
    """Ask a server that takes a fixed time a request: what is left is what waiting can overlap."""

    def slowly(request: Request) -> Reply:
        reply = embeddings(request)
        return Reply(document=reply.document, delay_seconds=SERVER_SECONDS)

    chosen = list(itertools.islice(itertools.cycle(passages), 16 * BATCH_SIZE))
    with OllamaServer() as server:
        server.on("/api/embed", slowly)
        embedder = OllamaEmbedder(OllamaClient(server.url))

        def run(in_flight: int) -> Callable[[int], object]:
            return lambda _number: list(
                embed(chosen, embedder, batch_size=BATCH_SIZE, in_flight=in_flight)
            )

        variants = {f"{count} in flight": run(count) for count in IN_FLIGHT}
        times = interleaved(variants, rounds=3, clock=wall_ms)
    alone = times["1 in flight"]
    return Measured(
        ratios=tuple(
            Ratio(
                name=f"requests: {count} in flight / one, {SERVER_SECONDS * 1000:.0f} ms each",
                value=times[f"{count} in flight"] / alone,
            )
            for count in IN_FLIGHT[1:]
        ),
        absolutes=tuple(
            Absolute(name=f"requests: {name}", value=took, unit="ms", kind="wall")
            for name, took in times.items()
        ),
    )
