"""For tools that still ask for it; everything is in setup.cfg."""

from setuptools import setup

setup()
