"""ragctl: questions to a technical site, answered with citations that can be checked."""

__version__ = "0.1.0"
