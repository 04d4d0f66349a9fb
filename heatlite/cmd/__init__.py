"""cmd: the programs. Read options, build the parts, connect and run them.

The only files that import every package. Must not contain decisions of any kind.
"""

from heatlite.common import runtime

runtime.omit_advice()           # here, as some programs import the library without the need to patch anything
