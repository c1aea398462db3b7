"""The counter of prompt tokens."""

from __future__ import annotations

import base64
import random

import pytest

from ragctl.stages.tokens import estimated_tokens

# What the tokenizer cl100k_base counts for these texts.
COUNTED = {
    "The token bucket refills lazily, when a request arrives.": 13,
    "static int bpf_prog_load(struct bpf_attr *attr)\n{\n\treturn -EINVAL;\n}\n": 19,
    "| nines | per year |\n|---|---|\n| 99.9% | 8h 45min 57s |\n": 29,
    "令牌桶算法用于限制请求的速率，当桶满时丢弃新的令牌。": 34,
    "Сервер хранит очередь запросов и отвечает им по порядку.": 23,
    "토큰 버킷은 요청 속도를 제한하는 알고리즘입니다.": 28,
    "🙂🚀🔥": 8,
}


@pytest.mark.parametrize(("text", "tokens"), COUNTED.items())
def test_it_is_near_what_a_tokenizer_counts(text: str, tokens: int) -> None:
    assert 0.75 * tokens <= estimated_tokens(text) <= 1.4 * tokens


def test_hexadecimal_and_base64_are_counted_by_their_characters() -> None:
    noise = random.Random(1).randbytes(600)  # cl100k_base: 677 and 566 tokens
    assert 600 <= estimated_tokens(noise.hex()) <= 950
    assert 500 <= estimated_tokens(base64.b64encode(noise).decode()) <= 800


def test_it_grows_with_the_text_and_counts_nothing_as_nearly_nothing() -> None:
    assert estimated_tokens("") == 1
    text = "A queue holds work until somebody is free to do it. "
    once, often = estimated_tokens(text), estimated_tokens(text * 50)
    assert 45 * once <= often <= 50 * once
