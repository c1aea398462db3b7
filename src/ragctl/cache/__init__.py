"""What was computed once and serves again: vectors of questions, and whole answers.

Nothing here knows the pipeline: an answer is looked up before stage 5 and kept after stage 8. A
cache that cannot be used is told of once and never in the way.
"""
