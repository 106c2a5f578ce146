"""Which pairs exist, where they come from, loading, checks, devices and the shared runner."""
