"""LocalStack listens where it is told, and not on every interface of this machine: it runs any code that it is sent."""

from typing import Any
from unittest import mock

from localstack.runtime.server import twisted
from localstack.runtime.server.twisted import TwistedRuntimeServer
from twisted.internet import endpoints

from berth_localstack.guard import need, replace


def patch() -> None:
    need(twisted.endpoints, "TCP4ServerEndpoint")
    replace(TwistedRuntimeServer, "register", ["self", "gateway", "listen", "ssl_creds"], _register)


def _register(original: Any, self: TwistedRuntimeServer, gateway: Any, listen: Any, ssl_creds: Any = None) -> None:
    every = endpoints.TCP4ServerEndpoint

    def one(reactor: Any, port: int) -> endpoints.TCP4ServerEndpoint:
        host = next(each.host for each in listen if each.port == port)
        return every(reactor, port, interface=host)

    with mock.patch.object(endpoints, "TCP4ServerEndpoint", one):
        original(self, gateway, listen, ssl_creds)
