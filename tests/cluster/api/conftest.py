"""An authority for the tests of the client."""

import pytest

from slicewright.testbed.credentials import Authority


@pytest.fixture(scope="session")
def authority() -> Authority:
    """Who signs the certificates of servers and clients; its RSA key takes a tenth of a second."""
    return Authority("test")
