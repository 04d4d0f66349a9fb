"""The end of a program whose options are wrong. Imports nothing: the parent of workers loads nothing of the service."""


class InvalidOptions(SystemExit):
    """A program cannot work with its options: to start it again would end alike. The argument is a text of one line for
    operators, or 2, the exit code of commands, where the text about the command line is printed already.

    Programs of the service end with EX_CONFIG (`heatlite.cmd.workers.refused`), commands with 1, as with other errors.
    """
