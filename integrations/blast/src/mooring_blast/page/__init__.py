"""A small page: submit a query, watch it run, read the hits. Must not know: how a search is done."""
