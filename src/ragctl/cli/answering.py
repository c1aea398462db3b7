"""How one answer reaches the reader: streamed or checked first, and on request with its phases."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.stages.strict import as_shown

if TYPE_CHECKING:
    from rich.table import Table

    from ragctl.records.answers import Answer, Prompt
    from ragctl.records.evidence import Evidence
    from ragctl.records.links import LinkStyle


class AnswerWriter(Protocol):
    """Shows the text of an answer piece by piece."""

    def write(self, piece: str) -> None:
        """Take the next piece."""

    def close(self) -> None:
        """End the text with its line."""


class PlainWriter:
    """Shows the text as it is written, without any markup of ours."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._has_written = False

    def write(self, piece: str) -> None:
        """Print the next piece."""
        self._has_written = self._has_written or bool(piece)
        self._output.stream(piece)

    def close(self) -> None:
        """End the line."""
        if self._has_written:
            self._output.line()


class SilentWriter:
    """Shows nothing: for JSON, and where the check comes first."""

    def write(self, piece: str) -> None:
        """Take a piece."""

    def close(self) -> None:
        """Do nothing."""


def make_writer(output: Output, *, clock: Callable[[], float]) -> AnswerWriter:
    """Return the writer for where the answer goes: markdown on a terminal, else as it is."""
    if not output.has_markdown:
        return PlainWriter(output)
    from ragctl.cli.markdown import LEAST_COLUMNS, MarkdownWriter

    if output.data.width < LEAST_COLUMNS:
        return PlainWriter(output)
    return MarkdownWriter(output, clock=clock)


class Answering:
    """Follows one answer: shows its text as it comes, and keeps when each thing happened.

    Use it as a context manager around the call that answers: it ends the text, come what may.
    With ``as_json`` nothing is shown; ``with_prompt`` prints the prompt before it is sent; with
    ``checks_first`` no text is shown before :meth:`shown`.
    """

    def __init__(
        self,
        output: Output,
        *,
        as_json: bool,
        with_prompt: bool,
        checks_first: bool,
        clock: Callable[[], float],
    ) -> None:
        self._output = output
        self._clock = clock
        self._is_silent = as_json
        self._with_prompt = with_prompt and not as_json
        self._checks_first = checks_first
        self._writer: AnswerWriter = SilentWriter()
        if not as_json and not checks_first:
            self._writer = make_writer(output, clock=clock)
        self._began: float | None = None
        self._asked: float | None = None
        self._first: float | None = None
        self._ended: float | None = None

    def prompt(self, prompt: Prompt) -> None:
        """Take the prompt, which is sent now."""
        if self._with_prompt:
            self._output.line(prompt.text)
            self._output.line()
        self._asked = self._clock()

    def text(self, piece: str) -> None:
        """Take a piece of the answer."""
        if self._first is None:
            self._first = self._clock()
        self._writer.write(piece)

    def restart(self, reason: str) -> None:
        """Part what was shown and broke off from the answer that is written anew below it."""
        if self._is_silent or self._checks_first:
            return
        self._writer.close()
        self._output.line()
        self._output.line(f"--- {reason}. The answer is written anew: ---")
        self._output.line()
        self._writer = make_writer(self._output, clock=self._clock)

    def evidence(self, evidence: Evidence) -> None:
        """Say before the answer how much the passages found are worth for it."""
        if self._is_silent or evidence.verdict not in ("weak", "not covered"):
            return
        if evidence.verdict == "not covered":
            told = "The site probably does not cover this"
        elif evidence.named_in:
            told = f"Weak evidence; {evidence.rare_name} stands in [{evidence.named_in}]"
        else:
            told = "Weak evidence"
        probability = f"(probability of an answer {evidence.probability:.2f})"
        self._output.remark(f"{told} {probability}.", style="yellow")

    def shown(self, answer: Answer, *, links: LinkStyle) -> Answer:
        """Return what a reader is to see of an answer; its text is printed by now."""
        if not self._checks_first:
            return answer
        answer = as_shown(answer, links=links)
        writer = make_writer(self._output, clock=self._clock)
        writer.write(answer.text)
        writer.close()
        return answer

    def __enter__(self) -> Self:
        self._began = self._clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended = self._clock()
        self._writer.close()

    def first_token_ms(self) -> float | None:
        """Return the time from the prompt to the first text, in milliseconds."""
        if self._asked is None or self._first is None:
            return None
        return (self._first - self._asked) * 1000

    def check_ms(self, answer: Answer) -> float | None:
        """Return the time that the check took: what came after all that ``total`` holds."""
        if self._began is None or self._ended is None or answer.timings.total is None:
            return None
        return max((self._ended - self._began) * 1000 - answer.timings.total, 0.0)

    def phases(self, answer: Answer) -> Table:
        """Return where the time of an answer went, and at what rates."""
        times, found, sent = answer.timings, len(answer.passages), len(answer.prompt.passages)
        rows = (
            ("embed", times.embed, ""),
            ("search", times.search, f"{counted(found, 'passage')}, {sent} in the prompt"),
            *((("queue", times.queue, "for a free slot"),) if times.queue is not None else ()),
            ("first token", self.first_token_ms(), ""),
            ("prefill", times.prefill, _prompt_told(answer)),
            ("output", times.decode, _rate(answer.output_tokens, times.decode)),
            ("check", self.check_ms(answer), counted(len(answer.claims), "statement")),
            ("total", times.total, "without the check"),
        )
        table = new_table("phase", "ms", "", text_columns=(0, 2))
        for name, milliseconds, told in rows:
            shown = "-" if milliseconds is None else f"{milliseconds:,.1f}"
            table.add_row(name, shown, Text(told))
        for attempt in answer.attempts:
            told = f"{attempt.route}: {attempt.outcome}"
            table.add_row("attempt", f"{attempt.ms:,.1f}", Text(harmless(told)))
        table.add_row("route", "", Text(harmless(answer.route)))
        return table


def _prompt_told(answer: Answer) -> str:
    """Return the tokens of a prompt by our count and by the server's, and how fast they went."""
    told = _rate(answer.prompt_tokens, answer.timings.prefill)
    ours = f"{answer.prompt.tokens:,} tokens by our count" if answer.prompt.tokens else ""
    return ", ".join(part for part in (ours, f"the server: {told}" if told else "") if part)


def _rate(tokens: int | None, milliseconds: float | None) -> str:
    if tokens is None:
        return ""
    counted_tokens = counted(tokens, "token")
    if not milliseconds:
        return counted_tokens
    return f"{counted_tokens}, {tokens / milliseconds * 1000:,.1f} tokens/s"
