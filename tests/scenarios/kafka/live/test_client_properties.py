"""Connection settings from properties of Kafka's own tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.kafka.live.client_properties import Secret, client_settings
from scenarios.kafka.observation.observation import ObservationError

PASSWORD = 's3 "c\\r3t'
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s3 \\"c\\\\r3t";'
PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS}


@pytest.fixture
def store(tmp_path: Path) -> str:
    (tmp_path / "store.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    return str(tmp_path / "store.pem")


def test_default_protocol_is_plaintext() -> None:
    assert client_settings({}).arguments == {"security_protocol": "PLAINTEXT"}


def test_plain_credentials_are_unescaped() -> None:
    assert client_settings(PLAIN).arguments == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
    }


@pytest.mark.parametrize(
    "options", ["username='bob' password='pw'", "password=pw  username=bob", 'username="bob"\n\tpassword="pw" ']
)
def test_scram_credentials_are_parsed_with_any_quotes(options: str) -> None:
    jaas = f"org.apache.kafka.common.security.scram.ScramLoginModule required {options};"
    arguments = client_settings({**PLAIN, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}).arguments
    assert arguments["sasl_mechanism"] == "SCRAM-SHA-512"
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("bob", "pw")


def test_pem_stores_become_tls_files(store: str) -> None:
    settings = client_settings(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": store,
            "ssl.keystore.location": store,
            "ssl.key.password": PASSWORD,
        }
    )
    assert settings.arguments == {
        "security_protocol": "SSL",
        "ssl_cafile": store,
        "ssl_certfile": store,
        "ssl_keyfile": store,
        "ssl_password": PASSWORD,
        "ssl_check_hostname": True,
    }


def test_empty_identification_algorithm_disables_host_name_check() -> None:
    settings = client_settings({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""})
    assert settings.arguments["ssl_check_hostname"] is False


def test_timeouts_and_client_id_are_passed_and_others_reported_as_ignored() -> None:
    settings = client_settings(
        {"request.timeout.ms": "9000", "client.id": "look", "bootstrap.servers": "b:1", "foo.bar": "x", "acks": "all"}
    )
    assert settings.arguments == {"request_timeout_ms": 9000, "client_id": "look", "security_protocol": "PLAINTEXT"}
    assert settings.ignored == ("acks", "foo.bar")


def test_printed_settings_contain_no_password() -> None:
    settings = client_settings(PLAIN)
    for text in (repr(settings), str(settings), f"{settings.arguments}", "%s" % dict(settings.arguments)):  # noqa: UP031
        assert "c\\r3t" not in text
        assert "r3t" not in text
    assert settings.secrets() == (PASSWORD,)
    assert isinstance(settings.arguments["sasl_plain_password"], Secret)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: unknown value 'TLS'"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms: 'soon' is not a number"),
        ({**PLAIN, "sasl.mechanism": "AWS_MSK_IAM"}, "'AWS_MSK_IAM' is not supported"),
        ({"security.protocol": "SASL_SSL"}, "'GSSAPI' is not supported"),
        ({**PLAIN, "sasl.mechanism": "AWS_MSK_IAM"}, "import their output with --from DIR"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config: no username"),
        ({**PLAIN, "sasl.jaas.config": 'Module required username="a";'}, "sasl.jaas.config: no password"),
        ({**PLAIN, "sasl.jaas.config": 'password="s3 c"'}, "sasl.jaas.config: expected LoginModule"),
        (
            {**PLAIN, "sasl.jaas.config": "${file:/etc/secret:jaas}"},
            "sasl.jaas.config: config providers are not supported",
        ),
        (
            {**PLAIN, "sasl.jaas.config": 'Module required username="a" password="${env:PW}";'},
            "write the password itself",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}, "stores of type JKS are not supported"),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k.pem"},
            "ssl.keystore.location: stores of type PKCS12",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/no/t.pem"}, "no such file: /no/t.pem"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "-----BEGIN"}, "keys are not supported"),
    ],
)
def test_unsupported_properties_are_rejected_by_key(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ObservationError) as raised:
        client_settings(properties)
    assert message in str(raised.value)
    assert "s3 c" not in str(raised.value)
