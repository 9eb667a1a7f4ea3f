"""Whys: the one reason, with its since and its blockers, of a pool, a node, a claim, a warmup and a rule.

Pure functions over what is in memory already: whoever shows a state asks here for its why.
"""
