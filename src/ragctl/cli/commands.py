"""The commands of ``ragctl``, in the order of ``--help``; none of them is imported here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyCommand:
    """A command that is imported when it is called; ``about`` is its line in ``--help``."""

    name: str
    module: str
    about: str
    group: str


COMMANDS = (
    LazyCommand(
        name="ingest",
        module="ragctl.cli.ingest",
        about="Read a site's content folder into the database.",
        group="Every day",
    ),
    LazyCommand(
        name="ask",
        module="ragctl.cli.ask",
        about="Answer a question from the site, with citations.",
        group="Every day",
    ),
    LazyCommand(
        name="open",
        module="ragctl.cli.opening",
        about="Open a source of the last answer in the browser.",
        group="Every day",
    ),
    LazyCommand(
        name="sources",
        module="ragctl.cli.sources",
        about="List the pages that are in the database.",
        group="Every day",
    ),
    LazyCommand(
        name="search",
        module="ragctl.cli.search",
        about="Find passages, and see why they were found.",
        group="Understand",
    ),
    LazyCommand(
        name="show",
        module="ragctl.cli.show",
        about="Show a passage or a page as it is stored.",
        group="Understand",
    ),
    LazyCommand(
        name="audit",
        module="ragctl.cli.audit",
        about="Check that what is stored is what it should be.",
        group="Understand",
    ),
    LazyCommand(
        name="eval",
        module="ragctl.cli.evaluate",
        about="Measure with known questions what is found and answered.",
        group="Understand",
    ),
    LazyCommand(
        name="demo",
        module="ragctl.cli.demo",
        about="Ingest the handbook that ships with ragctl and ask it something.",
        group="Every day",
    ),
    LazyCommand(
        name="trace",
        module="ragctl.cli.trace",
        about="Show what became of a question: passages, prompt, answer, time.",
        group="Understand",
    ),
    LazyCommand(
        name="feedback",
        module="ragctl.cli.feedback",
        about="Say whether an answer was good, and list what was said.",
        group="Understand",
    ),
    LazyCommand(
        name="why",
        module="ragctl.cli.why",
        about="Say why a page is in the answer to a question, or why not.",
        group="Understand",
    ),
    LazyCommand(
        name="stage",
        module="ragctl.cli.stage",
        about="Run one stage of the pipeline from the files before it.",
        group="Understand",
    ),
    LazyCommand(
        name="diff",
        module="ragctl.cli.diff",
        about="Show what changed between two folders of artifacts.",
        group="Understand",
    ),
    LazyCommand(
        name="links",
        module="ragctl.cli.links",
        about="Check every link against the built site.",
        group="Understand",
    ),
    LazyCommand(
        name="doctor",
        module="ragctl.cli.doctor",
        about="Look at what ragctl needs here, and say what to mend.",
        group="Operate",
    ),
    LazyCommand(
        name="config",
        module="ragctl.cli.config",
        about="Show, change and begin the settings.",
        group="Operate",
    ),
    LazyCommand(
        name="cache",
        module="ragctl.cli.cache",
        about="Show, clear and judge the caches of answers and of questions.",
        group="Operate",
    ),
    LazyCommand(
        name="stats",
        module="ragctl.cli.stats",
        about="Show how the site does for those who ask it, and what has changed.",
        group="Operate",
    ),
    LazyCommand(
        name="report",
        module="ragctl.cli.report",
        about="Write the signals, drift, gaps and cost as one page of HTML.",
        group="Operate",
    ),
    LazyCommand(
        name="gateway",
        module="ragctl.cli.gateway",
        about="Show how the routes to an answer fare, try them, close their breakers.",
        group="Operate",
    ),
    LazyCommand(
        name="bench",
        module="ragctl.cli.bench",
        about="Measure what this machine takes for an answer.",
        group="Operate",
    ),
    LazyCommand(
        name="sites",
        module="ragctl.cli.sites",
        about="List the sites on the embedded server, or remove one.",
        group="Operate",
    ),
    LazyCommand(
        name="index",
        module="ragctl.cli.index",
        about="Search more passages than the exact scan can: build, measure, drop an index.",
        group="Operate",
    ),
    LazyCommand(
        name="db",
        module="ragctl.cli.db",
        about="Start, stop, look at, back up and migrate the database.",
        group="Operate",
    ),
)
