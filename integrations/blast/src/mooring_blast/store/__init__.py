"""A client for object stores with an S3 interface. Must not know: BLAST, Mooring's kinds."""
