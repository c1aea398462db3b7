"""What is kept of the questions that were asked."""
