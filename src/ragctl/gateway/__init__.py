"""Several models behind one generator: routes in order, deadlines, retries, breakers.

``generator`` is the way of one question; the other modules are its rules, each pure and alone.
"""
