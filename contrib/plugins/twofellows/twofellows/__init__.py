"""Heat resource types for servers in QingCloud: a plug-in package, to be put as a folder into `plugin_dirs`.

`api` asks, the other modules are the types. Without the package qingcloud-sdk there are no types.
"""
