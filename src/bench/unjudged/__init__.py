"""What the documents that nobody has judged could change."""
