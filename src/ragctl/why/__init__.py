"""Why a page is in the answer to a question, or why not.

``evidence`` is what is looked at, ``factors`` what is made of it, ``ranks`` the words for places.
"""
