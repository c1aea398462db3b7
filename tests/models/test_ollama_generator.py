from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ragctl.errors import ModelError, ModelMissing, ModelReplyError, ModelUnreachable
from ragctl.models.ollama import OllamaClient, OllamaGenerator
from ragctl.records.answers import Draft, Prompt
from ragctl.stages.repetition import RepetitionGuard
from tests.ollama_server import OllamaServer, Reply, chat, chat_lines

PROMPT = Prompt(
    text="[1] The lock opens at six.\n\nWhen?", question="When?", template="t", passages=()
)


def generator(server: OllamaServer, **options: Any) -> OllamaGenerator:
    return OllamaGenerator(OllamaClient(server.url), guard=RepetitionGuard, **options)


def ask(reply: Reply, **options: Any) -> tuple[Draft, str]:
    """Return the draft for a scripted reply, and what was shown on the way."""
    shown: list[str] = []
    with OllamaServer() as server:
        server.on("/api/chat", reply)
        draft = generator(server, **options).generate(PROMPT, on_text=shown.append)
    return draft, "".join(shown)


def bytes_of(*packets: bytes) -> Reply:
    return Reply(packets=packets, gap_seconds=0.01)


def test_the_exact_prompt_is_sent_with_fixed_options() -> None:
    with OllamaServer() as server:
        server.on("/api/chat", chat("Six [1]."))
        generator(server, model="llama3:latest").generate(PROMPT, on_text=print)
    body = server.requests[0].body
    assert body["model"] == "llama3"
    assert body["messages"] == [{"role": "user", "content": PROMPT.text}]
    assert body["stream"] is True
    assert body["options"] == {"temperature": 0, "seed": 0, "num_ctx": 4096, "num_predict": 512}


def test_an_answer_is_shown_as_it_comes_and_keeps_the_servers_figures() -> None:
    figures = {"prompt_eval_count": 900, "prompt_eval_duration": 3_200_000_000}
    draft, shown = ask(
        chat("The lock ", "opens ", "at six [1].", eval_count=7, eval_duration=500_000, **figures)
    )
    assert draft.text == shown == "The lock opens at six [1]."
    assert (draft.finish, draft.error, draft.route) == ("stop", "", "ollama/llama3")
    assert (draft.prompt_tokens, draft.output_tokens) == (900, 7)
    assert (draft.prefill_ms, draft.decode_ms) == (3200.0, 0.5)
    assert draft.written_by_model


@pytest.mark.parametrize("odd", [{}, {"eval_count": None}, {"eval_count": "7"}, {"eval_count": -1}])
def test_figures_that_are_missing_or_odd_are_unknown(odd: dict[str, object]) -> None:
    draft, _ = ask(chat("Six.", **odd))
    assert draft.output_tokens is None
    assert draft.prefill_ms is None


def test_packets_may_cut_characters_and_lines_anywhere() -> None:
    line = chat_lines("Größe – né ✓ [2]", done={"done_reason": "stop"})
    data = b"".join(line)
    for size in (1, 2, 3, 50):
        cut = [data[i : i + size] for i in range(0, len(data), size)]
        draft, shown = ask(Reply(packets=cut))
        assert draft.text == shown == "Größe – né ✓ [2]"
        assert draft.finish == "stop"


def test_several_lines_in_a_packet_and_empty_lines_are_read() -> None:
    data = b"\n\r\n".join(chat_lines("a ", "b", done={"done_reason": "stop"}))
    assert ask(bytes_of(data))[0].text == "a b"
    assert ask(bytes_of(data.rstrip()))[0].text == "a b"


@pytest.mark.parametrize("chunked", [True, False])
def test_a_stream_without_chunks_is_shown_as_it_comes(chunked: bool) -> None:
    lines = chat_lines("first ", "second", done={"done_reason": "stop"})
    seen: list[float] = []
    with OllamaServer() as server:
        server.on("/api/chat", Reply(packets=lines, gap_seconds=0.1, chunked=chunked))
        generator(server).generate(PROMPT, on_text=lambda text: seen.append(time.monotonic()))
    assert seen[1] - seen[0] > 0.05


@pytest.mark.parametrize(
    ("tail", "end", "said"),
    [
        (
            b'{"error":"an error was encountered while running the model"}\n',
            "normal",
            "an error was",
        ),
        (b"", "normal", "ended early"),
        (b"", "reset", "lost"),
        (b"", "hang", "silent"),
        (b"<html>502 Bad Gateway</html>\n", "normal", "not JSON"),
        (b"[1, 2]\n", "normal", "no object"),
        (b'{"message":', "normal", "not JSON"),
    ],
)
def test_an_answer_that_breaks_off_is_torn_with_what_came(tail: bytes, end: Any, said: str) -> None:
    packets = (
        [*chat_lines("The lock ", "opens at"), tail]
        if tail
        else chat_lines("The lock ", "opens at")
    )
    draft, shown = ask(Reply(packets=packets, end=end), stall_seconds=0.15)
    assert draft.text == shown == "The lock opens at"
    assert draft.finish == "torn"
    assert said in draft.error


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (bytes_of(b'{"error":"llama runner process has terminated"}\n'), ModelReplyError),
        (bytes_of(b"<html>hello</html>\n"), ModelReplyError),
        (Reply(packets=[]), ModelReplyError),
        (Reply(packets=[], end="reset"), ModelUnreachable),
        (Reply(end="reset"), ModelUnreachable),
        (Reply(status=503, document={"error": "server busy"}), ModelUnreachable),
        (Reply(status=500, document={"error": "out of memory"}), ModelReplyError),
        (
            bytes_of(b'{"message":"odd","done":false}\n', b'{"message":{"content":7}}\n'),
            ModelReplyError,
        ),
    ],
)
def test_a_failure_before_any_text_is_an_error(reply: Reply, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        ask(reply)


@pytest.mark.parametrize(
    "reply",
    [chat(""), chat(), chat("  ", "\n"), chat("<think>hm", "</think>", "\n"), chat("<think>hm")],
)
def test_an_answer_without_text_says_so(reply: Reply) -> None:
    with pytest.raises(ModelReplyError, match="the model returned no text"):
        ask(reply)


def test_a_missing_model_says_how_to_get_it() -> None:
    with pytest.raises(ModelMissing) as caught:
        ask(Reply(status=404, document={"error": "model 'llama3' not found"}))
    assert caught.value.hint == "ollama pull llama3"


def test_the_length_limit_is_passed_on() -> None:
    draft, _ = ask(chat("check the knots [2], and then [", done_reason="length"))
    assert draft.finish == "length"


def test_the_first_word_has_its_own_limit() -> None:
    start = time.monotonic()
    with pytest.raises(ModelUnreachable):
        ask(Reply(end="hang"), first_token_seconds=0.1)
    with pytest.raises(ModelUnreachable):
        ask(Reply(packets=[], end="hang"), first_token_seconds=0.1)
    with pytest.raises(ModelUnreachable, match="no text within"):
        ask(Reply(packets=[b"\n"] * 40, gap_seconds=0.02), first_token_seconds=0.1)
    assert time.monotonic() - start < 2


def test_the_whole_answer_has_a_limit_however_it_drips() -> None:
    lines = chat_lines(*(f"word{n} " for n in range(60)))
    draft, _ = ask(Reply(packets=lines, gap_seconds=0.02), total_seconds=0.2)
    assert draft.finish == "torn"
    assert "0.2 s" in draft.error


def test_a_server_that_never_ends_is_left_at_the_limit_of_tokens() -> None:
    with OllamaServer() as server:
        lines = (chat_lines(f"w{n} ")[0] for n in range(1_000_000))
        server.on("/api/chat", Reply(packets=lines))
        draft = generator(server, num_predict=50).generate(PROMPT, on_text=lambda text: None)
        assert server.left.wait(2)
    assert draft.finish == "torn"
    assert "50 tokens" in draft.error
    assert len(draft.text.split()) < 100


def test_one_huge_piece_counts_by_its_bytes() -> None:
    big = " ".join(str(n) for n in range(2000))
    draft, _ = ask(Reply(packets=chat_lines(big, big, big)), num_predict=50)
    assert draft.finish == "torn"
    assert len(draft.text) <= 2 * len(big)


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    with pytest.raises(ModelReplyError, match="line of over"):
        ask(Reply(packets=[b"x" * 65_536] * 40))


def test_a_repeating_answer_is_cut_and_its_request_closed() -> None:
    sentence = "The rope is changed every quarter [1]. "
    shown: list[str] = []
    with OllamaServer() as server:
        server.on("/api/chat", Reply(packets=chat_lines(*[sentence] * 400), gap_seconds=0.002))
        draft = generator(server).generate(PROMPT, on_text=shown.append)
        assert server.left.wait(2)
    assert draft.finish == "repetition"
    assert draft.text == sentence.strip()
    assert "".join(shown).startswith(draft.text)


def test_nul_and_lone_surrogates_never_reach_the_text() -> None:
    line = json.dumps({"message": {"content": "The\x00 lock \ud83d opens"}}).encode() + b"\n"
    draft, shown = ask(bytes_of(line, *chat_lines("", done={})))
    assert draft.text == shown == "The\ufffd lock \ufffd opens"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_reasoning_stays_out_of_the_answer_wherever_its_tags_are_cut(size: int) -> None:
    text = "<think>\nSix <b> or < seven?\n</think>\n\nAt 5 < 6, in `<think>` and <thin air [1]."
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    draft, shown = ask(chat(*pieces))
    assert draft.text == shown == "At 5 < 6, in `<think>` and <thin air [1]."


def test_the_field_for_reasoning_stays_out_of_the_answer() -> None:
    line = json.dumps({"message": {"content": "", "thinking": "hm"}, "done": False}).encode()
    draft, _ = ask(bytes_of(line + b"\n", *chat_lines("Six.", done={})))
    assert draft.text == "Six."


def interrupt(text: str) -> None:
    raise KeyboardInterrupt


def full_pipe(text: str) -> None:
    raise BrokenPipeError


@pytest.mark.parametrize(
    ("on_text", "kind"), [(interrupt, KeyboardInterrupt), (full_pipe, OSError)]
)
def test_an_interrupt_or_a_closed_terminal_closes_the_request(
    on_text: Callable[[str], None], kind: type[BaseException]
) -> None:
    with OllamaServer() as server:
        server.on("/api/chat", Reply(packets=chat_lines("The lock"), end="hang"))
        with pytest.raises(kind):
            generator(server).generate(PROMPT, on_text=on_text)
        assert server.left.wait(2)


def test_several_threads_may_ask_at_once() -> None:
    drafts: list[Draft] = []
    with OllamaServer() as server:
        server.on("/api/chat", chat("Six [1]."))
        made = generator(server)
        threads = [
            threading.Thread(target=lambda: drafts.append(made.generate(PROMPT, on_text=len)))  # type: ignore[arg-type]
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [draft.text for draft in drafts] == ["Six [1]."] * 4
