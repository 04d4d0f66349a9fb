"""autoscaling: types of the names AWS::AutoScaling::*.

May not come in: anything but what plug-in authors may import too.
"""
