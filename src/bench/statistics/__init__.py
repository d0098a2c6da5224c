"""What a sample of queries can say of all queries: intervals, tests, the best of many, and how it is told."""
