"""What hostile pages and answers are made of: pieces of markdown that nest and end badly."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Text = SearchStrategy[str]

ODD_CHARACTERS = (
    "\x00", "\x07", "\x08", "\x0b", "\x0c", "\r", "\x1b", "\x1b[2J", "\x1b]8;;http://x\x07",
    "\x7f", "\x85", "\x9b", "\xa0", "\xad", "\u0300\u0316\u0334" * 8, "\u061c", "\u200b", "\u200d",
    "\u200e", "\u202e", "\u2028", "\u2029", "\u2066", "\u3000", "\ufe0f", "\ufeff", "\ufffd",
    "\uffff", "\ud800", "\udc00", "\udfff", "\U000e0041", "\U0001f469\u200d\U0001f4bb", "İ", "ß",
    "ﬁ", "ǆ", "ς", "각", "潮汐。", "مرحبا", "e\u0301", "𝔘", "\U0010ffff",
)  # fmt: skip
WORDS = (
    "lock", "The", "gate.", "It is so.", "no", "not", "e.g.", "Dr.", "a_b_c", "Vec<u8>",
    "<linux/bpf.h>", "--flag", "std::vector", "/proc/sys", "C++", "12", "1,000", "3.5 ms", "0xff",
    "50%", "$5", "1.10", "x=1", "i<b && c>d", "foo(bar)[0]", "A B C", "\\", "\\*", "&amp;", "&#0;",
)  # fmt: skip
INLINE = (
    "`", "``", "```", "`a b`", "``a ` b``", "`a\\`", "*", "**", "**bold**", "_", "__", "~~",
    "***a**",
    "[", "]", "![", "](", "[a](b)", "[a](<b c>)", "[a](/b 'c')", "[a][b]", "[a][]", "[[a]]", "[^1]",
    "![a](data:image/png;base64,QUJD)", "<https://x.test/a?b=c>", "https://x.test/a_b",
    "<a@b.test>",
    "<b>", "</b>", "<br>", "<br/>", "<b", "<a href='x'>", "<a href=\"", "</a>", "<span a={b}>",
    "<Box a={{b: 1}} />", "<Box", "</Box>", "<>", "</>", "{a}", "{", "}", "{{", "}}", "{{a}}",
    "{{< x >}}", "{{% x %}}", "{{<", ">}}", "{% x %}", "{%", "%}", "{/*", "*/}", "{/* a */}",
    "<!--",
    "-->", "<!-- a -->", "<!-->", "<svg>", "</svg>", "<svg/>", "<script>", "</script>", "<style>",
    "</style>", "<![CDATA[", "]]>", "<?a", "?>", "$a$", "$$", "|", "\\|", ":::", "!!!", "data:",
    "{#a}", "{.b}", "{: #c}", ":smile:", "==a==", "^a^", "'", "\"", "“", "”", "—", "...", "--",
)  # fmt: skip
LINE_STARTS = (
    "", "", "", "# ", "## ", "###### ", "####### ", "#", "- ", "* ", "+ ", "1. ", "99) ", "> ", ">",
    ">> ", "- > ", "> - ", "- - ", "    ", "\t", "  ", " \t", "| ", "|", ": ", "[a]: ", "[^1]: ",
    "- [ ] ", "::: ", "!!! note ", "=== ", "--8<-- ", "import ", "export ", "{: ", "<", "title: ",
)  # fmt: skip
WHOLE_LINES = (
    "", "", "", "```", "```py", "~~~", "~~~~", "````md", "    code", "---", "***", "===", "...",
    "+++", "|a|b|", "|-|-|", "| --- |", "|:-|-:|", "a | b", "- | -", "<div>", "</div>", "<table>",
    "</table>", "<tr><td>", "<details>", "</details>", "<pre>", "</pre>", "<Tabs>", "</Tabs>",
    "<!--", "-->", "<svg", "<svg>", "</svg>", "<script>", "</script>", "{{< highlight go >}}",
    "{{< /highlight >}}", "{% highlight c %}", "{% endhighlight %}", "{% comment %}",
    "{% endcomment %}", ":::note", ":::", "::: {.a}", "!!! note \"T\"", "??? a", '=== "Tab"',
    "--8<-- \"x.md\"", "import A from './a'", "import {", "} from 'b'", "export const a = {", "}",
    "export default x", "# T {#t}", "## T", "T\n===", "T\n---", "{: #k}", "[b]: /c", "[b]:",
    "[^1]: note", "    more", "[x]: data:a/b;base64,QUJD", "\\", "  ", "\t", "a  ", "a\\",
)  # fmt: skip

CHARACTERS: Text = st.characters(codec=None)
PIECES: Text = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from(INLINE),
    st.sampled_from(INLINE),
    st.sampled_from(ODD_CHARACTERS),
    CHARACTERS,
)
RUNS: Text = st.builds(
    lambda piece, times: piece * times, PIECES, st.sampled_from([2, 3, 17, 80, 300])
)
"""A piece over and over: what a rule with a wrong repetition is slow at."""
SEPARATORS = st.sampled_from(["", " ", " ", " ", "\n"])


def _joined(parts: list[tuple[str, str]]) -> str:
    return "".join(f"{piece}{separator}" for piece, separator in parts)


INLINES: Text = st.one_of(
    st.lists(st.tuples(PIECES, SEPARATORS), max_size=8).map(_joined),
    st.lists(st.tuples(PIECES, SEPARATORS), max_size=8).map(_joined),
    RUNS,
)
LINES: Text = st.one_of(
    st.sampled_from(WHOLE_LINES),
    st.builds(lambda start, inline: start + inline, st.sampled_from(LINE_STARTS), INLINES),
)
BLOCKS: Text = st.lists(LINES, max_size=8).map("\n".join)


def _pushed_in(parts: tuple[str, str]) -> str:
    lead, block = parts
    return "\n".join(f"{lead}{line}" for line in block.split("\n"))


def _wrapped(parts: tuple[tuple[str, str], str]) -> str:
    (opening, closing), block = parts
    return f"{opening}\n{block}\n{closing}"


LEADS = st.sampled_from(["> ", "- ", "    ", "  ", "\t", "1. ", ">", "> > ", "| "])
WRAPPINGS = st.sampled_from(
    [
        ("```", "```"), ("~~~", "~~~~"), ("````", "```"), ("<div>", "</div>"), ("<svg>", "</svg>"),
        ("<!--", "-->"), ("{/*", "*/}"), (":::a", ":::"), ("<A b={{", "}}>"), ("{% comment %}",
        "{% endcomment %}"), ("<script>", "</script>"), ("<details><summary>x</summary>",
        "</details>"), ("|a|", "|-|"), ("<>", "</>"), ("export const a = (", ")"), ("---", "---"),
    ]
)  # fmt: skip
NESTED: Text = st.recursive(
    BLOCKS,
    lambda inner: st.one_of(
        st.tuples(LEADS, inner).map(_pushed_in),
        st.tuples(WRAPPINGS, inner).map(_wrapped),
        st.lists(inner, min_size=2, max_size=3).map("\n".join),
        st.lists(inner, min_size=2, max_size=3).map("\n\n".join),
    ),
    max_leaves=6,
)
METADATA_LINES: Text = st.one_of(
    st.sampled_from(
        [
            "title: A", "title: 1.10", "title: '", 'title: "a', "title: [a", "title: {a: b}",
            "a: &x 1",
            "b: *x", "b: *y", "<<: *x", "? a", ": b", "- a", "# note", "date: 2024-02-30",
            "date: 2024-01-01", "draft: true", "draft: yes", "weight: .inf", "weight: 1e999",
            "weight: 12_3", "weight: 0x1F", "weight: 9" * 9, "tags: [a, [b, [c]]]",
            "a: !!python/x y",
            "a: !!binary x", "a: |", "  text", "a: >-", "\ta: b", "a : b", "a:b", "'a': b", "1: 2",
            "null: 1", "2024-01-01: d", "[x]: y", "{a: b}: c", "title = 'A'", "title = \"", "[a]",
            "[[a]]", "a = 1979-05-27T07:32:00Z", "a = [1, 2", "a = {b = 1}", "a.b = 1", "a = inf",
            "a = 0x", "a = '''", "...", "---", "%YAML 1.1", "", " ", "text of a page",
        ]
    ),
    st.builds(lambda key, value: f"{key}: {value}", st.sampled_from(["title", "x"]), INLINES),
    st.builds(lambda value: f"a = {value}", INLINES),
)  # fmt: skip
FRONT_MATTER: Text = st.builds(
    lambda opening, lines, closing: "\n".join((opening, *lines, closing)),
    st.sampled_from(["---", "+++", "--- ", "---\t", " ---", "----", "\ufeff---"]),
    st.lists(METADATA_LINES, max_size=6),
    st.sampled_from(["---", "+++", "...", "--- ", "", "-- -"]),
)
BODIES: Text = st.lists(NESTED, max_size=4).map("\n\n".join)
DOCUMENTS: Text = st.one_of(
    BODIES,
    BODIES,
    st.builds(lambda head, body: f"{head}\n{body}", FRONT_MATTER, BODIES),
)
"""Pages, as text: lone surrogates, NUL and all kinds of line ends may stand in them."""
WELL_FORMED = st.lists(
    st.one_of(
        st.sampled_from(
            ["# Title {#t}", "Words <b>bold</b> here.", "<div>", "</div>", "<!-- note -->",
             "<!-- one\n\ntwo -->", "<svg><path d='M0'/></svg>", "<svg>\n\n# no\n\n</svg>",
             "- a\n- b",
             "```py\n<b>x</b>\n```", "~~~\n# no\n~~~", "| a | b |\n|---|---|\n| 1 | `2` |",
             "T\n===",
             "{{< note >}}", "{{< /note >}}", "{% include x %}", "::: tip", ":::",
             "> quoted\n> <br>",
             "<script>\nlet a\n</script>", "![x](data:image/png;base64,QUJD)",
             "[x]: data:a/b;base64,QQ==",
             "--8<-- \"x.md\"", "Use <linux/bpf.h>, Vec<u8> and i<b && c>d.", "{: .wide}", "潮汐。"]
        ),
        st.sampled_from(ODD_CHARACTERS).map("Words {} here.".format),
    ),
    max_size=8,
).map("\n\n".join)  # fmt: skip
"""Pages in which all markup is closed where it was opened."""
NAMES = st.sampled_from(["guide/a.md", "guide/a.md", "guide/a.mdx", "guide/a.txt"])

CITATIONS = (
    "[1]", "[2]", "[1, 2]", "[1-3]", "[1-999999999999]", "[3–1]", "[0]", "[99]", "[^1]", "[^1]:",
    "[passage 2]", "[source 5]", "【2†source】", "［1］", "[1", "1]", "[[1]]", "[1](x)", "[1]:",
    "[]", "[ 1 and 2 ]", "[1;2]", "[no. 1]", "`[1]`", "[1,,2]", "[1-]", "[-1]", "[1 to 4]",
    "[1..3]",
)  # fmt: skip
ANSWER_LINES: Text = st.one_of(
    st.lists(
        st.one_of(PIECES, st.sampled_from(WORDS), st.sampled_from(CITATIONS)), max_size=10
    ).map(" ".join),
    st.sampled_from(
        [
            "Sources:", "References", "## Sources", "[1] https://x.test/a", "[1]: https://x.test",
            "I cannot answer that from the passages.", "The passages do not say.",
            "Yes. It is [1].",
            "No, it is not [2].", "A token bucket holds 1,000 tokens [1].", "It never blocks [1].",
            "Consumers share partitions [2][3].", "- The default is 250 ms [1].", "| a | 250 ms |",
            "```c", "```", "According to [1], it holds.", "# Answer", "1. First [1].",
            "> It is [2].",
        ]
    ),
    RUNS,
)  # fmt: skip
ANSWERS: Text = st.lists(ANSWER_LINES, max_size=8).flatmap(
    lambda lines: st.sampled_from(["\n", "\n\n", " "]).map(lambda joint: joint.join(lines))
)
"""What a model may write: sentences with citations, and everything a page may hold."""
