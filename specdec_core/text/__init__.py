"""Text for people: tokens made visible."""
