"""heat: types of the names OS::Heat::*, which need no other service.

Must not import anything but what plug-in authors may import, too.
"""
