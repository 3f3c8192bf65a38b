"""How to connect, from what Kafka's own tools take with `--command-config`, to the arguments of kafka-python.

Read are the common settings of TLS (files in PEM) and of SASL (PLAIN and SCRAM). Passwords never show: they are of a
type that prints as stars.

Source: `org.apache.kafka.common.config.SslConfigs`, `SaslConfigs`; `org.apache.kafka.common.security.JaasConfig`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scenarios.kafka.observation.errors import ObservationError

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_NUMBERS: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
}
_ELSEWHERE: Final = ("bootstrap.servers",)
_PEM_ENDS: Final = (".pem", ".crt", ".cer", ".key")
_LOGIN_MODULE: Final = re.compile(
    r"(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*);\s*"
)
_OPTION: Final = re.compile(r"""\s*(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_FROM_PROVIDER: Final = re.compile(r"\$\{[^}]*\}")


class Secret(str):
    """A password: a text for whoever sends it, stars for whoever prints what holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How to connect.

    Attributes:
        arguments: those of `KafkaAdminClient`.
        passed_over: the keys of properties that are not known here, sorted.
    """

    arguments: Mapping[str, str | int | bool]
    passed_over: tuple[str, ...]

    def secrets(self) -> tuple[str, ...]:
        """The passwords, for whoever must keep them out of a text."""
        return tuple(value for value in self.arguments.values() if isinstance(value, Secret) and value)


def client_settings(properties: Mapping[str, str]) -> ClientSettings:
    """Find out how to connect, from properties as the Java clients take them.

    Raises:
        ObservationError: a setting has a value that cannot be used here; the message names the key, never a password.
    """
    reading = _Reading(properties)
    arguments: dict[str, str | int | bool] = {
        argument: number for key, argument in _NUMBERS.items() if (number := reading.number(key)) is not None
    }
    if client_id := reading.text("client.id"):
        arguments["client_id"] = client_id
    protocol = (reading.text("security.protocol") or "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise ObservationError(f"security.protocol: '{protocol}' is none of {', '.join(_PROTOCOLS)}")
    arguments["security_protocol"] = protocol
    if protocol.endswith("SSL"):
        arguments.update(_tls(reading))
    if protocol.startswith("SASL"):
        arguments.update(_sasl(reading))
    return ClientSettings(arguments, tuple(sorted(set(properties) - reading.known)))


class _Reading:
    """Properties, and which of them somebody has asked for."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self.known: set[str] = set(_ELSEWHERE)

    def text(self, key: str) -> str | None:
        """The value without blanks around it; None if it is missing or, as for Java's clients, empty."""
        self.known.add(key)
        value = self._properties.get(key, "").strip()
        if _FROM_PROVIDER.fullmatch(value):
            raise ObservationError(f"{key} comes from a config provider, which is not asked here; write its value")
        return value or None

    def number(self, key: str) -> int | None:
        text = self.text(key)
        if text is not None and not re.fullmatch(r"\d{1,9}", text):
            raise ObservationError(f"{key}: '{text[:20]}' is not a number of milliseconds")
        return None if text is None else int(text)

    def is_given(self, key: str) -> bool:
        return key in self._properties


def _tls(reading: _Reading) -> Iterator[tuple[str, str | bool]]:
    if location := _pem_file(reading, "truststore", ("ssl.truststore.certificates",)):
        yield "ssl_cafile", location
    inline = ("ssl.keystore.certificate.chain", "ssl.keystore.key")
    if location := _pem_file(reading, "keystore", inline):
        yield "ssl_certfile", location
        yield "ssl_keyfile", location
    if password := reading.text("ssl.key.password"):
        yield "ssl_password", Secret(password)
    for store in ("truststore", "keystore"):
        reading.text(f"ssl.{store}.password")  # Files in PEM have none.
    key = "ssl.endpoint.identification.algorithm"
    yield "ssl_check_hostname", reading.text(key) is not None or not reading.is_given(key)


def _pem_file(reading: _Reading, store: str, inline: tuple[str, ...]) -> str | None:
    """The file of a trust store or key store, which must be in PEM: Python reads no other."""
    for key in inline:
        if reading.text(key):
            raise ObservationError(
                f"{key}: certificates and keys are read from files; name one by ssl.{store}.location"
            )
    location, kind = reading.text(f"ssl.{store}.location"), reading.text(f"ssl.{store}.type")
    if location is None:
        return None
    if (kind or "JKS").upper() != "PEM" and not (kind is None and location.endswith(_PEM_ENDS)):
        raise ObservationError(
            f"ssl.{store}.location: a store of type {kind or 'JKS'} cannot be read here; make it PEM (with keytool "
            f"-importkeystore to PKCS12, then openssl pkcs12 -in STORE -out STORE.pem) and set ssl.{store}.type=PEM"
        )
    if not Path(location).is_file():
        raise ObservationError(f"ssl.{store}.location: there is no file {location}")
    return location


def _sasl(reading: _Reading) -> Iterator[tuple[str, str]]:
    mechanism = (reading.text("sasl.mechanism") or "GSSAPI").upper()
    if mechanism not in _MECHANISMS:
        raise ObservationError(
            f"sasl.mechanism: '{mechanism}' is not supported here (but {', '.join(_MECHANISMS)}); let Kafka's own "
            "tools connect, and import what they print with --from DIR"
        )
    yield "sasl_mechanism", mechanism
    options = _jaas_options(reading.text("sasl.jaas.config"))
    for option in ("username", "password"):
        if option not in options:
            raise ObservationError(
                f"sasl.jaas.config has no {option}; it should be as in: "
                f'{_module(mechanism)} required username="…" password="…";'
            )
        if _FROM_PROVIDER.fullmatch(options[option]):
            raise ObservationError(
                f"sasl.jaas.config: the {option} comes from a config provider, which is not asked here; write its value"
            )
    yield "sasl_plain_username", options["username"]
    yield "sasl_plain_password", Secret(options["password"])


def _jaas_options(text: str | None) -> dict[str, str]:
    """Read the options of the login module; none if there is no such config."""
    if text is None:
        return {}
    match = _LOGIN_MODULE.fullmatch(text.replace("\n", " "))
    if match is None:
        raise ObservationError('sasl.jaas.config is not of the form: LoginModule required username="…" password="…";')
    return {
        name: bare or _ESCAPED.sub(r"\1", double or single)
        for name, double, single, bare in _OPTION.findall(match["options"])
    }


def _module(mechanism: str) -> str:
    package = "org.apache.kafka.common.security"
    if mechanism == "PLAIN":
        return f"{package}.plain.PlainLoginModule"
    return f"{package}.scram.ScramLoginModule"
