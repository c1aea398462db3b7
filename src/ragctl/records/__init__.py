"""The records that travel between stages: frozen, typed, without behaviour that touches the world.

One module a stage, imported by its name: what a command does not need is not made. Offsets are
0-based code points in ``Page.text``; lines are 1-based lines of the source file; durations are
milliseconds; vectors are float32 and have the dimensions of their index.
"""
