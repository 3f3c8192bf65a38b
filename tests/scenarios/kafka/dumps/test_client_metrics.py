"""Reading of client metrics from files, folders and addresses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scenarios.kafka.observation.client_calibration import read_client_metrics
from scenarios.kafka.observation.observation import ObservationError

RECORDED = Path(__file__).parents[1] / "formats" / "client_metrics"


class _Exporter(BaseHTTPRequestHandler):
    """Answers with a recorded text that has no clock."""

    def do_GET(self) -> None:
        text = (RECORDED / "processing.prom").read_text(encoding="utf-8")
        body = "\n".join(line for line in text.split("\n") if not line.startswith("java_lang")).encode()
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Exporter) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_folder_equals_its_files(tmp_path: Path) -> None:
    files = sorted(RECORDED.glob("*.prom"))
    assert read_client_metrics([str(RECORDED)]) == read_client_metrics(list(map(str, files)))
    assert len(read_client_metrics([str(RECORDED)])) == len(files)


def test_scrapes_of_an_exporter_have_the_time_of_the_request(address: str) -> None:
    (first,) = read_client_metrics([f"{address}/metrics"])
    (second,) = read_client_metrics([f"{address}/metrics"])
    assert first.client_id == "shop-one"
    assert first.at_ms is not None
    assert second.at_ms is not None
    assert first.at_ms <= second.at_ms


def test_unreachable_exporter_is_reported(address: str) -> None:
    with pytest.raises(ObservationError, match=r"client metrics 'http://127.*/other': Not Found"):
        read_client_metrics([f"{address}/other"])


def test_wrong_line_is_reported_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "metrics.prom"
    file.write_text("up 1\nnot found\n")
    with pytest.raises(ObservationError, match=r"metrics\.prom:2: .*not a number"):
        read_client_metrics([str(file)])


@pytest.mark.parametrize(("name", "message"), [("missing", "no such file"), ("empty", "contains no files")])
def test_missing_source_is_reported(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ObservationError, match=message):
        read_client_metrics([str(tmp_path / name)])
