"""The audit: what is stored, examined by code of its own.

Nothing here is shared with the parser or the chunkers, so that a fault of theirs is not repeated:
``layout`` finds headings, fences and tables in a text, ``removals`` what a source line may be
left out for, ``passages`` compares both with the passages that are stored.
"""
