"""Guessing root, address and rules from a generator's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.site_guess import JEKYLL_EXCLUDE, SiteGuess, guess_site

GENERATORS = {
    "Hugo": (
        {"hugo.toml": 'baseURL = "https://h.example/"\n', "content/posts/a.md": "x"},
        SiteGuess(
            generator="Hugo", root="content", base_url="https://h.example", url_style="slash",
            slugs="hugo", tracks=("posts",), evidence="hugo.toml",
        ),
    ),
    "Hugo with another folder": (
        {"hugo.yaml": "baseURL: https://h.example/x\ncontentDir: pages\n", "pages/a/b.md": "x"},
        SiteGuess(
            generator="Hugo", root="pages", base_url="https://h.example/x", url_style="slash",
            slugs="hugo", tracks=("a",), evidence="hugo.yaml",
        ),
    ),
    "Docusaurus": (
        {
            "docusaurus.config.js": (
                "// url: 'https://no.example'\nconst config = {\n  url: 'https://d.example',\n"
                "  baseUrl: '/docs-site/',\n  presets: [['classic', {docs: {}}]],\n};\n"
            ),
            "docs/intro/a.mdx": "x",
        },
        SiteGuess(
            generator="Docusaurus", root="docs", base_url="https://d.example/docs-site/docs",
            slugs="docusaurus", tracks=("intro",), evidence="docusaurus.config.js",
        ),
    ),
    "MkDocs": (
        {
            "mkdocs.yml": (
                "site_name: X\nsite_url: https://m.example/\nuse_directory_urls: false\n"
                "markdown_extensions:\n  - pymdownx.emoji:\n      emoji_index: !!python/name:x.y\n"
            ),
            "docs/guide/a.md": "x",
        },
        SiteGuess(
            generator="MkDocs", root="docs", base_url="https://m.example", url_style="html",
            slugs="mkdocs", tracks=("guide",), evidence="mkdocs.yml",
        ),
    ),
    "Astro in a subfolder": (
        {
            "website/astro.config.mjs": "export default { site: 'https://a.example' }",
            "website/src/content/kernel/a.md": "x",
        },
        SiteGuess(
            generator="Astro", root="website/src/content", base_url="https://a.example",
            tracks=("kernel",), evidence="website/astro.config.mjs",
        ),
    ),
    "Jekyll": (
        {
            "_config.yml": "url: https://j.example\nbaseurl: /b\n",
            "guides/a.md": "x",
            "vendor/b.md": "x",
        },
        SiteGuess(
            generator="Jekyll", root=".", base_url="https://j.example/b", url_style="html",
            tracks=("guides",), exclude=JEKYLL_EXCLUDE, evidence="_config.yml",
        ),
    ),
    "no generator": (
        {"docs/a/b.md": "x"},
        SiteGuess(root="docs", tracks=("a",), evidence="docs holds markdown"),
    ),
    "nothing": ({"readme.txt": "x"}, SiteGuess()),
    "broken files": (
        {"mkdocs.yml": "a: [", "hugo.toml": "= =", "docs/a/b.md": "x"},
        SiteGuess(
            generator="Hugo", root="content", url_style="slash", slugs="hugo", evidence="hugo.toml"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_is_recognised_by_its_files(name: str, tmp_path: Path) -> None:
    files, expected = GENERATORS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert guess_site(tmp_path) == expected
