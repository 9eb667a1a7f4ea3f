"""The pages and tables of the reference, each made from the code that it describes."""
