"""Training a reranker on a collection's judgements: what it learns from, how it learns, and what is said of it."""
