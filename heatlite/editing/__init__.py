"""The language server: answers what editors ask about templates and environments, by the Language Server Protocol.

All modules but `server` and `protocol` are pure: a text and an offset in it -> an answer in offsets. Must not
import the service's database, API or options, nor the simulated cloud.
"""
