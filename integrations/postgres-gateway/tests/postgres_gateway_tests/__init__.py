"""Tests of the gateway. The folder above is on the path: its parent's name is no name of a package."""
