"""What statements gave when they were pinned: the same secret must go on giving the same rows.

``python -m tests.golden`` writes ``answers.json`` anew; a change of it is a change for everybody who releases again.
"""
