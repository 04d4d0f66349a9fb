"""openstack: types of the names OS::*, a folder for each service.

Must not import anything but what plug-in authors may import, too.
"""
