"""Artifacts: what passes from one stage to the next, as files that can be read tomorrow.

One module a boundary, and ``manifest`` over all of them:

========  ==========================================  ===============================
stage     writes                                      module
========  ==========================================  ===============================
parse     ``parse.jsonl``, ``text/*.txt``             ``pages``
chunk     ``chunks.jsonl``                            ``passages``
embed     ``vectors.npy``, ``vector_ids.json``,       ``vectors``
          ``vector_hashes.json``
index     ``index.npz``                               ``index``
retrieve  ``retrieved.json``                          ``retrieved``
render    ``prompt.txt``                              ``answers``
generate  ``draft.json``                              ``answers``
check     ``answer.json``                             ``answers``
========  ==========================================  ===============================

Every file is written beside its place and renamed into it, in UTF-8, with its keys in a fixed
order: two runs that made the same values made the same bytes. Nothing here needs numpy; ``.npy``
and ``.npz`` are what numpy writes and reads. What cannot be read raises
:class:`~ragctl.errors.UsageError` with the file and the line.
"""
