"""The stages of the pipeline: pure functions over records, one file each."""
