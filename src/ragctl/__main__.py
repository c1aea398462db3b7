"""``python -m ragctl`` and the command ``ragctl``.

Until :func:`ragctl.cli.main.main` takes the signals, a Ctrl-C must end the program as it ends any
other, without a traceback through whatever is being imported.
"""

import signal


def run() -> None:
    """Run the program; stopped while it is being loaded, it ends by the signal itself."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ragctl.cli.main import main

    main()


if __name__ == "__main__":
    run()
