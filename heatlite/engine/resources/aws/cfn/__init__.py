"""cfn: types of the names AWS::CloudFormation::*.

Must not import anything but what plug-in authors may import, too.
"""
