"""What the server answers: objects in the representation asked for, or a Status with causes.

Must not know: verbs, access control, or how a request was routed.
"""
