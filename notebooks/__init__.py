"""What an analyst opens in Jupyter. `python -m notebooks` runs all and keeps what they print."""
