"""Runs one process and measures it, from a process that is small itself.

The system counts what a process was forked from into its peak memory, and the measuring process
holds a million vectors. Needs the standard library's smallest part alone: ``launch.py OUT ERR
ARGUMENTS...`` prints wall and CPU milliseconds, peak kilobytes and the exit code.
"""

import os
import sys
import time


def main() -> None:
    """Run the arguments as a program, its output in two files, and print what it took."""
    out, err, *arguments = sys.argv[1:]
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        for place, number in ((os.devnull, 0), (out, 1), (err, 2)):
            os.dup2(os.open(place, write if number else os.O_RDONLY), number)
        os.execv(arguments[0], arguments)
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    print(took * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss, code)


if __name__ == "__main__":
    main()
