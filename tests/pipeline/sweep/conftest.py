"""The wheel that is shipped to executors."""

from tests.packaging.conftest import installed, wheel

__all__ = ["installed", "wheel"]
