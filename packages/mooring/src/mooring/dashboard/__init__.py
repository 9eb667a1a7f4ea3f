"""The pages.

Must not know: anything but the api's read models.
"""
