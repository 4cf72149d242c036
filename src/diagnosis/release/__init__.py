"""Floor 5: decides what may be published, and how it reads. Nothing else publishes."""
