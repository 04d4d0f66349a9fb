"""cfn: types of the names AWS::CloudFormation::*.

May not come in: anything but what plug-in authors may import too.
"""
