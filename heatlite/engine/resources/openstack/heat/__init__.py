"""heat: types of the names OS::Heat::*, which need no other service.

May not come in: anything but what plug-in authors may import too.
"""
