"""A Buildbot latent worker that runs each build on a warm Mooring worker."""
