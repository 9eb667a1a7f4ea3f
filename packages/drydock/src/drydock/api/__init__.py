"""The API server: understands a request, checks access, runs the verb, stores and answers.

Must not know: the actors, which are ordinary clients, and how a cluster is assembled.
"""
