"""Tests of mooring_blast, with a real S3 server and a real blastn."""
