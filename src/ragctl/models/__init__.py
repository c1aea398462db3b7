"""Models behind the seams: the only importer of requests and of the embedded model.

One file a provider; ``http`` holds what every HTTP provider shares. Nothing is imported here, so
that a command that needs no model pays for none.
"""
