"""The demo: an S3 server, a synthetic database, the Warmup and the page on a local `mooring up`."""
