"""The loopback interface of a network namespace that is ours."""

import fcntl
import socket
import struct

INSIDE = "SLICEWRIGHT_E2E_ARGOCD"
"""Set for the tests by the one that made the network namespace for them."""

_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # SIOCGIFFLAGS and SIOCSIFFLAGS of linux/sockios.h
_UP = 1
_REQUEST = struct.Struct("16sh14x")  # struct ifreq of linux/if.h: a name and its flags


def bring_up() -> None:
    """Bring up the loopback interface, the only one there. Raises OSError, AssertionError."""
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "start these tests with make e2e-argocd"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0))
        _, flags = _REQUEST.unpack(answer)
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _UP))
