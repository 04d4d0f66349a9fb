"""heatlite-manage doctor: tests everything that the configuration needs, and names the fix for each failure.

One module for each subject, each with a table `CHECKS`; `table` joins them, `running` executes them, `report` prints
the outcomes. Must not be imported by anything but the command.
"""
