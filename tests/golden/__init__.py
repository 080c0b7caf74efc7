"""What statements gave when they were pinned: the same secret must go on giving the same rows.

``python -m tests.golden`` pins statements that are not pinned yet, in ``answers.json``, and writes what the pages tell
of every function. With ``--anew`` it pins all of them: a change for everybody who releases again.
"""
