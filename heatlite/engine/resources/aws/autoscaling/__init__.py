"""autoscaling: types of the names AWS::AutoScaling::*.

Must not import anything but what plug-in authors may import, too.
"""
