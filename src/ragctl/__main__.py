"""``python -m ragctl``."""

from ragctl.cli.main import main

main()
