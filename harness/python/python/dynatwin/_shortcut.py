"""Skips botocore's HTTP layer for requests that succeed at once.

It applies to the clients that a twin creates. Preparing, sending and retrying an HTTP request costs more than the rest of a
call together. A request whose answer is an error, late, broken or lost takes botocore's way, with the answer that the
engine has given. So does every request of a client with other handlers of the skipped events than botocore's own.
"""

from __future__ import annotations

import logging
import weakref
import zlib
from typing import TYPE_CHECKING, Any

from dynatwin import _delivery

if TYPE_CHECKING:
    from dynatwin._binding import Binding
    from dynatwin._dynatwin import Reply
    from dynatwin._twin import Twin

# The first parts of the names of events that are not emitted.
_SKIPPED = {
    "*",
    "before-endpoint-resolution",
    "before-parse",
    "before-send",
    "before-sign",
    "choose-signer",
    "needs-retry",
    "request-created",
    "response-received",
}

_LOGGER = logging.getLogger("botocore.endpoint")


def install(client: Any, binding: Binding) -> None:
    """Replaces ``Endpoint.make_request`` for a client that does not sign.

    The client's session must have no handlers except botocore's.
    """
    if (client.meta.config.retries or {}).get("mode") == "adaptive":
        # It counts each request.
        return
    _Shortcut(client, binding)


def remove(endpoint: Any) -> None:
    """Restores ``Endpoint.make_request``."""
    endpoint.__dict__.pop("make_request", None)


class _Shortcut:
    def __init__(self, client: Any, binding: Binding) -> None:
        endpoint = client._endpoint
        self._client = weakref.ref(client)
        self._endpoint = weakref.proxy(endpoint)
        self._class = type(endpoint)
        self._binding = binding
        self._resolver = getattr(client, "_ruleset_resolver", None)
        if self._resolver is not None:
            # The answer does not depend on the endpoint.
            client._ruleset_resolver = None
        self._observe(client.meta.events)
        endpoint.make_request = self._make_request

    def _observe(self, events: Any) -> None:
        """Ends the shortcut when a handler of a skipped event is registered."""
        for method in ("register", "register_first", "register_last"):
            setattr(events, method, self._observed(getattr(events, method)))

    def _observed(self, register: Any) -> Any:
        def observed(event_name: str, *args: Any, **kwargs: Any) -> Any:
            client: Any = self._client()
            if client is not None and event_name.partition(".")[0] in _SKIPPED:
                remove(client._endpoint)
                if self._resolver is not None:
                    client._ruleset_resolver = self._resolver
            return register(event_name, *args, **kwargs)

        return observed

    def _make_request(self, operation_model: Any, request_dict: dict[str, Any]) -> Any:
        twin = None if _LOGGER.isEnabledFor(logging.DEBUG) else self._binding.find()
        if twin is None:
            return self._class.make_request(self._endpoint, operation_model, request_dict)
        method, url, body = request_dict["method"], request_dict["url"], request_dict["body"]
        reply = self._binding.reply(twin, method, url, request_dict["headers"], body)
        if _is_plain(twin, reply):
            return self._parsed(operation_model, url, reply)
        with self._binding.answered(reply):
            return self._class.make_request(self._endpoint, operation_model, request_dict)

    def _parsed(self, operation_model: Any, url: str, reply: Reply) -> Any:
        """Returns the response and its parsed body, as ``Endpoint.make_request`` does."""
        from botocore.awsrequest import AWSResponse
        from botocore.endpoint import convert_to_response_dict

        response = _delivery.response(AWSResponse, url, reply[0], reply[1], reply[2], reply[5])
        service = operation_model.service_model
        # Before botocore 1.36 a service had one protocol.
        protocol = getattr(service, "resolved_protocol", None) or service.protocol
        parser = self._endpoint._response_parser_factory.create_parser(protocol)
        parsed = parser.parse(convert_to_response_dict(response, operation_model), operation_model.output_shape)
        parsed["ResponseMetadata"]["RetryAttempts"] = 0
        return response, parsed


def _is_plain(twin: Twin, reply: Reply) -> bool:
    """Returns whether a client gets this success whole and at once."""
    status, headers, body, at, delivery, _ = reply
    if status != 200 or delivery != "whole" or twin.clock.until(at) > 0:
        return False
    checksum = next((value for name, value in headers if name == "x-amz-crc32"), None)
    return checksum is None or int(checksum) == zlib.crc32(body)
