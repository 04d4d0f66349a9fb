"""openstack: types of the names OS::*, a folder for each service.

May not come in: anything but what plug-in authors may import too.
"""
