"""The kinds being served: names, shapes, subresources, selectable fields and conventions.

Must not know: requests, or the objects of a kind.
"""
