"""Proof on a cloud: the life of every resource type, driven through a running heatlite-all against a cloud that a
clouds.yaml names, or against the simulator - and the two held side by side.

Must not import anything of heatlite, `page` apart: it uses the programs. What is asked here, a user could ask.
"""
