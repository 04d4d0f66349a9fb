"""Secrets planted in stacks, and the search for them wherever they must not be."""
