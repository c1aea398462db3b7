"""One stage at a time, from the files before it: what ``ragctl stage`` and ``--artifacts`` run.

``indexed`` holds stages 1 to 4, ``answered`` 5 to 8: each from files to files, without a
database. ``export`` writes the same files from a run that has one. ``running`` skips a stage that
has nothing new to read, and refuses one whose input is stale because an earlier one must run.
"""
