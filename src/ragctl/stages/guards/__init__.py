"""Guards: checks around the model that do not depend on what the model makes of its orders.

They see shape and known forms, and they see them in every answer: hosts that nobody named
(``hosts``), secrets (``secrets``), instructions that stand in passages (``instructions``). What
they find is told; ``block`` withholds an answer where the settings ask for that.
"""
