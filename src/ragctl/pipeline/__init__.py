"""The pipeline: ``ingest`` is stages 1 to 4, ``answer`` stages 5 to 8. Read these two files first.

Both take their parts as arguments and know none of them by name; ``wiring`` chooses. No
transaction is open while a model works, and every page is written whole or not at all.
"""
