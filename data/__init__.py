"""The corpus, the dictionary that is trained on it, and the script that trains it."""
