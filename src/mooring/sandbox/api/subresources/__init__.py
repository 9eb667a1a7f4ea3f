"""The parts and deeds of a resource that have a path of their own: scale, eviction, binding, log, token."""
