"""A stored request, run again from a stage with today's code, and what changed."""
