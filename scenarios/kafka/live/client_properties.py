"""Connection properties of Kafka's tools (`--command-config`) as arguments of kafka-python.

Supported are the common properties of TLS (PEM files) and SASL (PLAIN, SCRAM and OAUTHBEARER). Passwords have a type
that prints as stars. Tokens for OAUTHBEARER come from a file, or from a token endpoint by client credentials (OIDC);
kafka-python asks for a token at each connection.

Source: `org.apache.kafka.common.config.SslConfigs`, `SaslConfigs`; `org.apache.kafka.common.security.JaasConfig`;
`org.apache.kafka.common.security.oauthbearer` (`FileJwtRetriever`, `ClientCredentialsJwtRetriever`); RFC 6749, section
4.4.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from scenarios.kafka.observation.observation import ObservationError

TIMEOUT_S: Final = 10.0
"""Time limit of a request to a token endpoint."""

MAX_BYTES: Final = 1_000_000
"""Maximum size of an answer, or of a file with a token."""

_MARGIN_S: Final = 30.0
"""A token is replaced this long before it expires."""


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


_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OAUTH: Final = "OAUTHBEARER"
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", _OAUTH)
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_HANDLER: Final = "sasl.login.callback.handler.class"
_KAFKA_HANDLER: Final = "OAuthBearerLoginCallbackHandler"
"""Kafka's handler, in one of two packages by release, gets a token as this program does; others do not."""
_EXTENSION: Final = "extension_"
_MILLISECOND_KEYS: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
}
_OTHER_KEYS: Final = ("bootstrap.servers",)
_PEM_ENDS: Final = (".pem", ".crt", ".cer", ".key")
_LOGIN_MODULE: Final = re.compile(
    r"(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*);\s*"
)
_OPTION: Final = re.compile(r"""\s*(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PROVIDER_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")


class Secret(str):
    """A password: usable as a string, but its representation is stars."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Connection settings.

    Attributes:
        arguments: Arguments of `KafkaAdminClient`.
        ignored: Keys of unsupported properties, sorted.
    """

    arguments: Mapping[str, str | int | bool | TokenSource]
    ignored: tuple[str, ...]

    def secrets(self) -> tuple[str, ...]:
        """Return the passwords and tokens, so that they can be masked in messages."""
        passwords = tuple(value for value in self.arguments.values() if isinstance(value, Secret) and value)
        tokens = (value.secrets() for value in self.arguments.values() if isinstance(value, TokenSource))
        return (*passwords, *(secret for secrets in tokens for secret in secrets))


def client_settings(properties: Mapping[str, str]) -> ClientSettings:
    """Convert properties of the Java clients to connection settings.

    Raises ObservationError if a property has an unsupported value; the message contains its key, never a password.
    """
    reader = _PropertyReader(properties)
    arguments: dict[str, str | int | bool | TokenSource] = {
        argument: number for key, argument in _MILLISECOND_KEYS.items() if (number := reader.number(key)) is not None
    }
    if client_id := reader.text("client.id"):
        arguments["client_id"] = client_id
    protocol = (reader.text("security.protocol") or "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise ObservationError(f"security.protocol: unknown value '{protocol}' (supported: {', '.join(_PROTOCOLS)})")
    arguments["security_protocol"] = protocol
    if protocol.endswith("SSL"):
        arguments.update(_tls(reader))
    if protocol.startswith("SASL"):
        arguments.update(_sasl(reader))
    return ClientSettings(arguments, tuple(sorted(set(properties) - reader.supported)))


class _PropertyReader:
    """Reads properties and records which keys are supported."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self.supported: set[str] = set(_OTHER_KEYS)

    def text(self, key: str) -> str | None:
        """Return a value without surrounding blanks; None if it is missing or empty, as for the Java clients.

        Raises ObservationError if the value refers to a config provider.
        """
        self.supported.add(key)
        value = self._properties.get(key, "").strip()
        if _PROVIDER_REFERENCE.fullmatch(value):
            raise ObservationError(f"{key}: config providers are not supported; write the value itself")
        return value or None

    def number(self, key: str) -> int | None:
        text = self.text(key)
        if text is not None and not re.fullmatch(r"\d{1,9}", text):
            raise ObservationError(f"{key}: '{text[:20]}' is not a number of milliseconds")
        return None if text is None else int(text)

    def is_given(self, key: str) -> bool:
        return key in self._properties


def _tls(reader: _PropertyReader) -> Iterator[tuple[str, str | bool]]:
    if location := _pem_file(reader, "truststore", ("ssl.truststore.certificates",)):
        yield "ssl_cafile", location
    inline_keys = ("ssl.keystore.certificate.chain", "ssl.keystore.key")
    if location := _pem_file(reader, "keystore", inline_keys):
        yield "ssl_certfile", location
        yield "ssl_keyfile", location
    if password := reader.text("ssl.key.password"):
        yield "ssl_password", Secret(password)
    for store in ("truststore", "keystore"):
        reader.text(f"ssl.{store}.password")  # Accepted, but PEM files have no store password.
    key = "ssl.endpoint.identification.algorithm"
    yield "ssl_check_hostname", reader.text(key) is not None or not reader.is_given(key)


def _pem_file(reader: _PropertyReader, store: str, inline_keys: tuple[str, ...]) -> str | None:
    """Return the path of a trust store or key store, which must be in PEM; Python supports no other format.

    Raises ObservationError if the store is inline, of another type, or missing.
    """
    for key in inline_keys:
        if reader.text(key):
            raise ObservationError(
                f"{key}: inline certificates and keys are not supported; use a file with ssl.{store}.location"
            )
    location, store_type = reader.text(f"ssl.{store}.location"), reader.text(f"ssl.{store}.type")
    if location is None:
        return None
    if (store_type or "JKS").upper() != "PEM" and not (store_type is None and location.endswith(_PEM_ENDS)):
        raise ObservationError(
            f"ssl.{store}.location: stores of type {store_type or 'JKS'} are not supported; convert it to PEM (with "
            f"keytool -importkeystore to PKCS12, then openssl pkcs12 -in STORE -out STORE.pem) and set "
            f"ssl.{store}.type=PEM"
        )
    if not Path(location).is_file():
        raise ObservationError(f"ssl.{store}.location: no such file: {location}")
    return location


def _sasl(reader: _PropertyReader) -> Iterator[tuple[str, str | TokenSource]]:
    mechanism = (reader.text("sasl.mechanism") or "GSSAPI").upper()
    if mechanism not in _MECHANISMS:
        raise ObservationError(
            f"sasl.mechanism: '{mechanism}' is not supported (supported: {', '.join(_MECHANISMS)}); run Kafka's own "
            "tools and import their output with --from DIR"
        )
    yield "sasl_mechanism", mechanism
    options = _jaas_options(reader.text("sasl.jaas.config"))
    if mechanism == _OAUTH:
        yield "sasl_oauth_token_provider", _token_source(reader, options)
        return
    for option in ("username", "password"):
        if option not in options:
            raise ObservationError(
                f"sasl.jaas.config: no {option}; expected: "
                f'{_login_module(mechanism)} required username="…" password="…";'
            )
        if _PROVIDER_REFERENCE.fullmatch(options[option]):
            raise ObservationError(f"sasl.jaas.config: config providers are not supported; write the {option} itself")
    yield "sasl_plain_username", options["username"]
    yield "sasl_plain_password", Secret(options["password"])


def _token_source(reader: _PropertyReader, options: Mapping[str, str]) -> TokenSource:
    """Return where tokens come from: a file, or client credentials, as of the properties or of the login module.

    Raises ObservationError if there is neither, or a value is missing.
    """
    if (reader.text(_HANDLER) or _KAFKA_HANDLER).rpartition(".")[2] != _KAFKA_HANDLER:
        reader.supported.discard(_HANDLER)
    url = reader.text(_ENDPOINT)
    if url is None:
        raise ObservationError(
            f"{_ENDPOINT}: required for {_OAUTH}: https://… with a client id and its secret, or file:///… with a "
            "token; or run Kafka's own tools and import their output with --from DIR"
        )
    parts = urlsplit(url)
    if parts.scheme == "file":
        return TokenFile(Path(url2pathname(parts.path)))
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.password:
        raise ObservationError(f"{_ENDPOINT}: expected https://…, http://… or file:///…, without a password")
    client_id = reader.text("sasl.oauthbearer.client.credentials.client.id") or options.get("clientId")
    secret = reader.text("sasl.oauthbearer.client.credentials.client.secret") or options.get("clientSecret")
    if not client_id or not secret:
        raise ObservationError(
            "sasl.jaas.config: no clientId or no clientSecret; expected: "
            f'{_login_module(_OAUTH)} required clientId="…" clientSecret="…";'
        )
    if any(_PROVIDER_REFERENCE.fullmatch(value) for value in options.values()):
        raise ObservationError("sasl.jaas.config: config providers are not supported; write the value itself")
    extensions = {
        name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
    }
    scope = reader.text("sasl.oauthbearer.scope") or options.get("scope")
    return ClientCredentials(url, client_id, secret, scope, extensions)


def _jaas_options(text: str | None) -> dict[str, str]:
    """Return the options of the login module; none if the config is missing.

    Raises ObservationError if the config is malformed.
    """
    if text is None:
        return {}
    match = _LOGIN_MODULE.fullmatch(text.replace("\n", " "))
    if match is None:
        raise ObservationError('sasl.jaas.config: expected LoginModule required username="…" password="…";')
    return {
        name: bare or _ESCAPED.sub(r"\1", double or single)
        for name, double, single, bare in _OPTION.findall(match["options"])
    }


def _login_module(mechanism: str) -> str:
    package = "org.apache.kafka.common.security"
    if mechanism == _OAUTH:
        return f"{package}.oauthbearer.OAuthBearerLoginModule"
    if mechanism == "PLAIN":
        return f"{package}.plain.PlainLoginModule"
    return f"{package}.scram.ScramLoginModule"
