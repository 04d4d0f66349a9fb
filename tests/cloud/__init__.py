"""Proof on a cloud: the life of every resource type, driven through a running heatlite-all against a cloud that a
clouds.yaml names, or against the simulator - and the two held side by side.

May not come in: anything of heatlite but its programs (`page` apart). What is asked here, a user could ask.
"""
