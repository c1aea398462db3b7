"""Stage 2, chunk: a page becomes passages. One chunker a file; ``labels`` is common to them."""
