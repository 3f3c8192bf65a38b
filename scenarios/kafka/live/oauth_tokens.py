"""Tokens for OAUTHBEARER: from a file, or from a token endpoint by client credentials (OIDC).

Source: `org.apache.kafka.common.security.oauthbearer` (`FileJwtRetriever`, `ClientCredentialsJwtRetriever`); RFC 6749,
section 4.4. kafka-python asks for a token at each connection.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scenarios.kafka.observation.observation import ObservationError

TIMEOUT_S: Final = 10.0
"""Time limit of a request to a token endpoint."""

MAX_BYTES: Final = 1_000_000
"""Maximum size of an answer, or of a file with a token."""

_MARGIN_S: Final = 30.0
"""A token is replaced this long before it expires."""

_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"


@dataclass(slots=True)
class TokenFile:
    """A file with a token, which is read again for each connection, as another program may replace it.

    `path`: the file.
    """

    path: Path
    _last: str = field(default="", repr=False)

    def token(self) -> str:
        """Return the token; raise ObservationError if the file cannot be read, or has no token."""
        try:
            with self.path.open("rb") as file:
                text = file.read(MAX_BYTES).decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a token"
            raise ObservationError(f"{_ENDPOINT}: {self.path}: {reason}") from None
        if not text or any(character <= " " for character in text):
            raise ObservationError(f"{_ENDPOINT}: {self.path}: not a token (expected one line)")
        self._last = text
        return text

    def extensions(self) -> dict[str, str]:
        """Return no SASL extensions."""
        return {}

    def secrets(self) -> tuple[str, ...]:
        """Return what messages must not contain."""
        return (self._last,) if self._last else ()


@dataclass(slots=True)
class ClientCredentials:
    """A token endpoint of an OpenID provider, which grants tokens for a client id and its secret.

    Attributes:
        url: The endpoint, https or http.
        secret: The secret of the client.
        scope: The requested scope; None for the provider's default.
        sasl_extensions: SASL extensions, such as `logicalCluster` and `identityPoolId` of Confluent Cloud.
        ca_file: PEM file with the certificates that the endpoint is checked with; None for those of the system.
        clock: Returns the current time in seconds.
    """

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str | None = None
    sasl_extensions: Mapping[str, str] = field(default_factory=dict)
    ca_file: str | None = None
    clock: Callable[[], float] = time.monotonic
    _token: str = field(default="", repr=False)
    _expires_s: float = 0.0

    def token(self) -> str:
        """Return a token that is valid for some time; ask the endpoint only if there is none.

        Raises ObservationError if the endpoint cannot be reached, or grants no token.
        """
        if not self._token or self.clock() >= self._expires_s:
            answer = self._request()
            token, expires = answer.get("access_token"), answer.get("expires_in", 300)
            if not isinstance(token, str) or not token or any(character <= " " for character in token):
                raise ObservationError(f"{_ENDPOINT}: {self.url}: the answer has no access_token")
            seconds = float(expires) if isinstance(expires, int | float) else 300.0
            self._token, self._expires_s = token, self.clock() + max(seconds - _MARGIN_S, 0)
        return self._token

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions."""
        return dict(self.sasl_extensions)

    def secrets(self) -> tuple[str, ...]:
        """Return what messages must not contain."""
        return tuple(filter(None, (self.secret, self._token)))

    def _request(self) -> dict[str, object]:
        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        credentials = base64.b64encode(f"{self.client_id}:{self.secret}".encode()).decode()
        request = urllib.request.Request(
            self.url,
            urllib.parse.urlencode(form).encode(),
            {"Authorization": f"Basic {credentials}", "Accept": "application/json"},
        )
        context = ssl.create_default_context(cafile=self.ca_file)
        opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))
        try:
            with opener.open(request, timeout=TIMEOUT_S) as response:
                answer = json.loads(response.read(MAX_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                raise ObservationError(f"{_ENDPOINT}: {self.url}: HTTP status {error.code}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or "the answer is not JSON"
            raise ObservationError(f"{_ENDPOINT}: {self.url}: {reason}") from None
        if not isinstance(answer, dict):
            raise ObservationError(f"{_ENDPOINT}: {self.url}: the answer is not a JSON object")
        return answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the secret to another address."""

    def redirect_request(self, *_arguments: object, **_named: object) -> None:
        """Return no request."""


TokenSource = TokenFile | ClientCredentials
"""Where tokens come from."""
