"""OAUTHBEARER: tokens from a file or a token endpoint, as properties of Kafka's tools state them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from scenarios.kafka.live.client_properties import ClientCredentials, TokenFile, client_settings
from scenarios.kafka.live.connection import mask_secrets
from scenarios.kafka.observation.observation import ObservationError

BASE = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
URL = "sasl.oauthbearer.token.endpoint.url"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SECRET = "s3cr3t"


class Provider(HTTPServer):
    """A token endpoint on a free port, which records the requests and numbers the tokens."""

    def __init__(self, answer: dict[str, Any] | str | None = None, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.status, self.requests = answer, status, list[tuple[str, dict[str, list[str]]]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        provider = self.server
        assert isinstance(provider, Provider)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        provider.requests.append((self.headers["Authorization"], parse_qs(body)))
        granted = {"access_token": f"token-{len(provider.requests)}", "expires_in": 3600}
        answer = granted if provider.answer is None else provider.answer
        self.send_response(provider.status)
        if 300 <= provider.status < 400:
            self.send_header("Location", provider.url)
        self.end_headers()
        self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with Provider(**getattr(request, "param", {})) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def source(properties: dict[str, str]) -> Any:
    return client_settings({**BASE, **properties}).arguments["sasl_oauth_token_provider"]


def jaas(**options: str) -> dict[str, str]:
    listed = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {"sasl.jaas.config": f"{MODULE} {listed};"}


@pytest.mark.parametrize(
    "named",
    [
        jaas(clientId="import", clientSecret=SECRET, scope="kafka"),
        {
            "sasl.jaas.config": f"{MODULE};",
            "sasl.oauthbearer.client.credentials.client.id": "import",
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            "sasl.oauthbearer.scope": "kafka",
        },
    ],
    ids=["login module", "properties of Kafka 4.1"],
)
def test_client_credentials_are_sent_as_rfc_6749_says(provider: Provider, named: dict[str, str]) -> None:
    tokens = source({URL: provider.url, **named})
    assert tokens.token() == "token-1"
    [(authorization, form)] = provider.requests
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"import:{SECRET}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


def test_a_token_is_reused_until_shortly_before_it_expires(provider: Provider) -> None:
    now = [0.0]
    tokens = ClientCredentials(provider.url, "import", SECRET, clock=lambda: now[0])
    assert [tokens.token(), tokens.token()] == ["token-1", "token-1"]
    now[0] = 3569.0
    assert tokens.token() == "token-1"
    now[0] = 3571.0
    assert tokens.token() == "token-2"


def test_kafka_python_sends_the_token_and_extensions_as_rfc_7628_says(provider: Provider) -> None:
    # Only after `connection` has imported kafka-python without its warnings.
    from kafka.net.sasl import oauth

    options = jaas(clientId="import", clientSecret=SECRET, extension_logicalCluster="lkc-1")
    tokens = source({URL: provider.url, **options})
    oauth.AbstractTokenProvider.register(type(tokens))
    sent = oauth.SaslMechanismOAuth(sasl_oauth_token_provider=tokens).auth_bytes()
    assert sent == b"n,,\x01auth=Bearer token-1\x01logicalCluster=lkc-1\x01\x01"


def test_a_file_is_read_again_for_each_connection(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text("first\n")
    tokens = source({URL: file.as_uri()})
    assert isinstance(tokens, TokenFile)
    assert tokens.token() == "first"
    file.write_text("second")
    assert tokens.token() == "second"


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ({"status": 401}, "HTTP status 401"),
        ({"status": 302}, "HTTP status 302"),
        ({"answer": {"error": "invalid_client"}}, "the answer has no access_token"),
        ({"answer": {"access_token": "two words"}}, "the answer has no access_token"),
        ({"answer": "<html>"}, "the answer is not JSON"),
        ({"answer": "[]"}, "the answer is not a JSON object"),
    ],
    indirect=["provider"],
)
def test_an_endpoint_without_a_token_is_a_mistake_that_shows_no_secret(provider: Provider, message: str) -> None:
    with pytest.raises(ObservationError, match=message) as error:
        source({URL: provider.url, **jaas(clientId="import", clientSecret=SECRET)}).token()
    assert SECRET not in str(error.value)
    assert len(provider.requests) == 1, "a redirect is not followed"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, f"{URL}: required for OAUTHBEARER"),
        ({URL: "ftp://example.com"}, "expected https://"),
        ({URL: f"https://import:{SECRET}@example.com/token"}, "without a password"),
        ({URL: "https://example.com/token"}, "no clientId or no clientSecret"),
        ({URL: "https://example.com/token", **jaas(clientId="import")}, "no clientId or no clientSecret"),
        ({URL: "https://a.b/c", **jaas(clientId="a", clientSecret="${file:/x:y}")}, "config providers"),
    ],
)
def test_incomplete_properties_are_mistakes(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ObservationError, match=message) as error:
        source(properties)
    assert SECRET not in str(error.value)


def test_a_missing_file_and_a_file_without_a_token_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ObservationError, match="No such file"):
        TokenFile(tmp_path / "missing").token()
    for content in (b"", b"two words", "é".encode()):
        (tmp_path / "token").write_bytes(content)
        with pytest.raises(ObservationError, match="not a token"):
            TokenFile(tmp_path / "token").token()


def test_secrets_and_tokens_are_masked(provider: Provider) -> None:
    settings = client_settings({**BASE, URL: provider.url, **jaas(clientId="import", clientSecret=SECRET)})
    tokens = settings.arguments["sasl_oauth_token_provider"]
    assert isinstance(tokens, ClientCredentials)
    tokens.token()
    assert SECRET not in repr(settings)
    assert "token-1" not in repr(settings)
    assert mask_secrets(f"refused: {SECRET}, token-1", settings) == "refused: ***, ***"
