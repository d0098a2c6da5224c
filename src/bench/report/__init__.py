"""The report: one page that shows the trade-off first and then the evidence, made from facts alone."""
