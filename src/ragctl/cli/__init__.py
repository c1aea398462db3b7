"""The command line: the only importer of typer and rich. A command gets, does, shows."""
