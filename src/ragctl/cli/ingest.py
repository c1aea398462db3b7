"""``ragctl ingest``: from the content folder to the database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.artifacts import export_after_ingest, prepare
from ragctl.cli.documents import ingest_document
from ragctl.cli.fitting import fit_memory
from ragctl.cli.links import check_after_ingest
from ragctl.cli.output import Output
from ragctl.cli.progress import Progress
from ragctl.cli.render import show_findings, show_ingest
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, ContentError, UsageError
from ragctl.files import Found, find
from ragctl.indexing import IngestOptions
from ragctl.pipeline.ingest import ingest as run_ingest
from ragctl.pipeline.ingest import survey
from ragctl.records.pages import LeftOut
from ragctl.staging.reading import Content

if TYPE_CHECKING:
    from ragctl.records.ingest import IngestSummary
    from ragctl.records.stored import StoredPage
    from ragctl.settings import Settings

app = options.command_app("Read a site's content folder into the database.")


@app.command(epilog="Example: ragctl ingest website/src/content --exclude 'drafts/*'")
def ingest(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            readable=False,
            help="The content folder, or a folder in it; default: the setting site.root.",
        ),
    ] = None,
    track: options.Tracks = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="PATTERN",
            help="Leave out files that match, such as 'drafts/*', in this run; the setting "
            "site.exclude does it always. May be given more than once.",
        ),
    ] = None,
    drafts: Annotated[
        bool, typer.Option("--drafts", help="Take pages marked as drafts too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and cut, but embed and store nothing.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make everything anew, with the model and chunker set now."),
    ] = False,
    moved: Annotated[
        bool, typer.Option("--moved", help="The site lies in another folder than it did before.")
    ] = False,
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", help="Keep pages whose file is gone.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove pages even if that is most of a track.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for another ingest that is at work.")
    ] = False,
    artifacts: options.Artifacts = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Read the markdown below PATH, cut it into passages, embed and store them.

    Run it again after a change: only what changed is read into the database anew.
    """
    settings = wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "site.tracks": options.listed(track),
            "site.exclude": options.listed(exclude),
        }
    )
    if rebuild and track:
        raise UsageError(
            "--rebuild makes the whole site anew and cannot be limited by --track",
            hint="Leave one of them out.",
        )
    if artifacts and dry_run:
        raise UsageError(
            "--artifacts writes what was stored, and --dry-run stores nothing",
            hint="Look without a database: ragctl stage parse --from DIR --root PATH.",
        )
    output = Output(environ=os.environ)
    folder = _content_folder(path, settings, output)
    if dry_run:
        summary = survey_folder(folder, settings, drafts=drafts)
    else:
        summary = ingest_folder(
            folder,
            settings,
            output,
            choices=Choices(
                drafts=drafts,
                rebuild=rebuild,
                moved=moved,
                keep_missing=keep_missing,
                yes=yes,
                wait=wait,
                artifacts=artifacts,
            ),
        )
        fit_memory(settings, output)
    if json:
        output.json(ingest_document(summary))
    else:
        show_summary(summary, settings, output, dry_run=dry_run)
    raise typer.Exit(EXIT_FINDINGS if summary.has_findings else EXIT_DONE)


def _content_folder(path: Path | None, settings: Settings, output: Output) -> Path:
    """Return the folder that was named, that of the settings, or that of the last ingest."""
    if path is not None:
        return path
    if settings.site.root:
        return Path(settings.site.root)
    try:
        with wiring.open_database(settings) as database:
            root = database.site.content_root()
    except ContentError:
        root = None
    if root is None:
        raise UsageError(
            "no content folder given",
            hint="Name it: ragctl ingest website/src/content, or set site.root in ragctl.toml.",
        )
    output.remark(f"Reading {root}, as the last time.")
    return Path(root)


def survey_folder(folder: Path, settings: Settings, *, drafts: bool) -> IngestSummary:
    """Return what an ingest would find, without a database or a model."""
    chunker = wiring.make_chunker(settings)
    found = find(folder, tracks=settings.site.tracks, exclude=settings.site.exclude)
    return survey(
        found.sources,
        found.left_out,
        root=_real(folder),
        parser=wiring.make_parser(settings),
        chunker=chunker,
        drafts=drafts,
        clock=time.perf_counter,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user chose on the command line."""

    drafts: bool = False
    rebuild: bool = False
    moved: bool = False
    keep_missing: bool = False
    yes: bool = False
    wait: bool = False
    artifacts: Path | None = None


def _go_on() -> None:
    """Give way to nobody."""


def _tell(holder: object, output: Output) -> None:
    output.remark(f"Waiting for another ingest: {holder}.")


def ingest_folder(
    folder: Path,
    settings: Settings,
    output: Output,
    *,
    choices: Choices,
) -> IngestSummary:
    """Ingest a content folder, or a folder inside the recorded one, and return what was done."""
    chunker, parser = wiring.make_chunker(settings), wiring.make_parser(settings)
    find(folder, tracks=settings.site.tracks, exclude=settings.site.exclude)  # before any server
    with (
        wiring.open_database_for_ingest(settings, replaces=choices.rebuild) as database,
        database.ingesting(wait=choices.wait, on_wait=lambda who: _tell(who, output)),
    ):
        root = database.site.content_root() or _real(_widest_root(folder, settings))
        below = None if choices.moved else _below(folder, root)
        if below is None:
            root = _real(folder)
        found = find(
            Path(root), below=below, tracks=settings.site.tracks, exclude=settings.site.exclude
        )
        if choices.artifacts:
            prepare(choices.artifacts, root)
        recorded = database.identity.load()
        embedder = wiring.make_embedder(settings, recorded=recorded, rebuilds=choices.rebuild)
        if embedder.remark:
            output.remark(embedder.remark)
        giving_way = wiring.make_giving_way(settings, database)
        with Progress(output) as progress:
            summary = run_ingest(
                found.sources,
                (*found.left_out, *_tracks_that_are_not_there(found, settings)),
                options=IngestOptions(
                    root=root,
                    covers=_coverage(below, root, settings.site.tracks),
                    parser=parser,
                    drafts=choices.drafts,
                    rebuild=choices.rebuild,
                    moved=choices.moved,
                    keep_missing=choices.keep_missing,
                    remove_many=choices.yes,
                    batch_size=settings.embedding.batch_size,
                    in_flight=settings.embedding.in_flight,
                    give_way=giving_way or _go_on,
                ),
                database=database,
                chunker=chunker,
                embedder=embedder.part,
                report=progress.show,
                clock=time.perf_counter,
            )
        if giving_way is not None and giving_way.paused_seconds >= 1:
            output.remark(f"Gave way to questions for {giving_way.paused_seconds:.0f} s.")
        if choices.artifacts:
            content = Content(
                root=root,
                below=str(below) if below else None,
                tracks=settings.site.tracks,
                exclude=settings.site.exclude,
                drafts=choices.drafts,
            )
            export_after_ingest(choices.artifacts, content, settings, database, output)
        check_after_ingest(settings, database, output)
        return summary


def _tracks_that_are_not_there(found: Found, settings: Settings) -> list[LeftOut]:
    seen = {source.track for source in found.sources}
    return [
        LeftOut(path=f"{track}/", reason="there is no such track", intended=False)
        for track in settings.site.tracks
        if track not in seen
    ]


def _widest_root(folder: Path, settings: Settings) -> Path:
    configured = settings.site.root
    if configured and _below(folder, _real(Path(configured))) is not None:
        return Path(configured)
    return folder


def _below(folder: Path, root: str) -> Path | None:
    """Return the folder where it lies in the root or is it, ``None`` elsewhere."""
    real = Path(_real(folder))
    return real if real.is_relative_to(root) else None


def _real(folder: Path) -> str:
    return os.path.realpath(folder)


def _coverage(
    below: Path | None, root: str, tracks: tuple[str, ...]
) -> Callable[[StoredPage], bool]:
    prefix = below.relative_to(root).as_posix() if below is not None else "."

    def covers(page: StoredPage) -> bool:
        in_folder = prefix == "." or page.source_path.startswith(f"{prefix}/")
        return in_folder and (not tracks or page.track in tracks)

    return covers


def show_summary(
    summary: IngestSummary, settings: Settings, output: Output, *, dry_run: bool = False
) -> None:
    """Print the summary by track, then what was left out and what to look at."""
    show_ingest(summary, output)
    show_findings(summary, output)
    seconds = summary.seconds.get("total", 0.0)
    if dry_run:
        output.remark(f"Nothing was stored (--dry-run). {seconds:.1f} s")
    else:
        output.remark(f'Done in {seconds:.1f} s. Ask: ragctl ask{_place(settings)} "..."')


def _place(settings: Settings) -> str:
    """Return the options that lead to the same database again."""
    site = f" --site {settings.site.name}" if settings.origin("site.name") == "flag" else ""
    url = " --database-url ..." if settings.origin("database.url") == "flag" else ""
    return site + (url if settings.database.url else "")
