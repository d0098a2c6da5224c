"""The verbs: what each is asked, and what it finds for the tables to tell."""
