"""plugins: the modules of the operator's `plugin_dirs` appear in here while an engine runs.

Must not have files of ours. `plugin_loading` puts the folders on this package's path.
"""
