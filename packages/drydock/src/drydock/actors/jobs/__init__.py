"""The Job controller: plan, back-off, failure policy, indexes and exact counting of finished pods.

Must not know: other controllers.
"""
