"""The stages of the pipeline, as pure functions over records, and what they share."""
