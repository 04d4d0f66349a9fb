"""What an engine answers: one table from message to use case."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

UseCase = Callable[[RequestContext, Any], Any]


class Endpoint:
    def __init__(self, use_cases: dict[type[messages.Message], UseCase]) -> None:
        self._use_cases = use_cases

    def handle(self, context: RequestContext, message: messages.Message) -> Any:
        """The answer to one message. Raises what the caller is to see."""
        use_case = self._use_cases.get(type(message))
        if use_case is None:
            raise exception.NotSupported(feature=type(message).__name__)
        return use_case(context, message)
