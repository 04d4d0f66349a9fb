"""One file for each revision, named NUMBER_WHAT.py."""
