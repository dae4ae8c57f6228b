"""without_ipv6.py COMMAND...: runs it as on a machine whose kernel has no IPv6."""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

SOCKET_CALL = {"x86_64": 41, "aarch64": 198}[platform.machine()]
NUMBER_AT, FAMILY_AT = 0, 16  # in struct seccomp_data
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x00050000 | errno.EAFNOSUPPORT, 0x7FFF0000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2

PROGRAM = b"".join(struct.pack("HBBI", *line) for line in [
    (LOAD, 0, 0, NUMBER_AT),
    (JUMP_IF_EQUAL, 0, 3, SOCKET_CALL),
    (LOAD, 0, 0, FAMILY_AT),
    (JUMP_IF_EQUAL, 0, 1, socket.AF_INET6),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
])


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(PROGRAM) // 8, PROGRAM)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                  (PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
