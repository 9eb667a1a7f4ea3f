"""Parts of `tools/image`: wheels, root file system, SBOM and OCI archive."""
