"""Exact names: which tokens are names, and in which forms they are found again."""

from __future__ import annotations

import time

import pytest

from ragctl.stages.names import LONGEST_NAME, names_asked, names_of, written_names

NAMES = [
    "bpf_reg_state",
    "PFCOUNT",
    "--no-verify",
    "-o",
    "std::vector<int>",
    "std::vector",
    "C++",
    "C#",
    "/proc/sys/net/somaxconn",
    "<linux/bpf.h>",
    "foo.bar()",
    "HyperLogLog",
    "cargo-bisect-rustc",
    "v1.2.3",
    "RUST_LOG",
    "$HOME",
    "x86_64",
    "task->state",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["The {} is here.", "({}), and", "`{}`", "{}", "a\n{}:\nb"])
def test_a_name_of_a_passage_is_found_again_whatever_stands_around_it(name: str, text: str) -> None:
    stored = set(names_of(text.format(name)).names)
    assert stored & set(names_asked(f"What does {name} do?"))


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("bpf_reg_state", "BPF-REG-STATE"),
        ("bpf_reg_state", "how does bpf reg state work"),
        ("bpf_reg_state", "bpf.reg.state()"),
        ("HyperLogLog", "What is a hyper log log?"),
        ("std::vector<int>", "STD.VECTOR"),
        ("std::vector<int>", "vector<int>"),
        ("/proc/sys/net/tcp_tw_reuse", "What does tcp_tw_reuse do?"),
        ("/proc/sys/net/tcp_tw_reuse", "proc/sys"),
        ("#include <linux/bpf.h>", "bpf.h"),
        ("--no-verify", "git commit --NO-VERIFY"),
        ("--no-verify", "no-verify"),
    ],
)
def test_a_name_is_found_whatever_its_case_and_joints_or_by_a_part(stored: str, asked: str) -> None:
    assert set(names_of(stored).names) & set(names_asked(asked))


def test_the_words_of_compound_names_are_handed_out() -> None:
    words = names_of("StringView and epoll_wait, HTTPServer, sha256").words.split()
    assert set(words) >= {"string", "view", "epoll", "wait", "http", "server", "sha", "256"}


def test_plain_words_are_no_names() -> None:
    assert names_of("The token bucket refills when a request arrives. Then it waits.").names == ()
    assert names_asked("What is the token?") == ()


def test_runs_of_words_hold_no_common_ones() -> None:
    assert set(names_asked("what does a token bucket do")) == {"tokenbucket"}


def test_languages_of_one_letter_are_not_confused() -> None:
    assert "c#" not in names_of("C++ and C").names
    assert set(names_asked("Is it C++?")) & {"c", "c#"} == set()


def test_words_beyond_ascii_are_folded_here() -> None:
    assert "über" in names_of("Über alles").words.split()


@pytest.mark.parametrize(
    "piece",
    ["x", "a-", "a<", "_", "-", "::", "a::::", "A", "Ab", "a1_", "../", "a:-", "<a", "é_", "$$a"],
)
def test_hostile_texts_take_linear_time_and_give_no_long_names(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.perf_counter()
    found = names_of(text)
    asked = names_asked(text[:2000])
    assert time.perf_counter() - began < 5
    assert all(1 < len(name) <= LONGEST_NAME for name in (*found.names, *asked))


def test_lone_surrogates_reach_no_column() -> None:
    found = names_of("a_\ud800b x.\udfff")
    assert "\ud800" not in "".join(found.names) + found.words


def test_written_names_are_whole_and_as_written() -> None:
    text = "Call `bpf_reg_state` or std::vector<int>; bpf_reg_state, --no-verify and words."
    assert written_names(text) == ("bpf_reg_state", "std::vector<int>", "--no-verify")
