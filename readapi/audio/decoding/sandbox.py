"""Sandboxes a process before it reads an untrusted file: no files, network or programs, and another user.

Written here because no maintained and widely used package does it: bindings of Landlock for Python are a
developers' preview or months old, those of libseccomp were last released in 2021 and need a system library.
Only three system calls and a filter of thirty instructions are needed of them.

`python -m readapi.audio.decoding.sandbox` prints the limits that this machine does not offer, a name a line.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Mapping
from typing import NamedTuple

MEMORY_BYTES = 1 << 30
OUTPUT_BYTES = 4 << 30
DESCRIPTORS = 32
THREADS = 32
NICE = 10  # requests have priority

_FIRST_USER = 0x7000_0000  # systems assign no user ids from here on
_NOBODY = 65534

# prctl(2)
_SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 4, 22, 38

# landlock(7). Rights by the version of the interface that introduced them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _TRUNCATE = 1 << 1, 1 << 2, 1 << 14
_FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: 1 << 15}
_TCP = {4: 0b11}  # bind, connect
_SCOPES = {6: 0b11}  # abstract sockets, signals

# seccomp(2)
_FILTER = 2
_ALLOW, _KILL, _ERROR = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in seccomp_data
_CLONE_THREAD = 0x0001_0000
_X32 = 0x4000_0000


class _Calls(NamedTuple):
    """Numbers of the system calls of one architecture that the filter refuses or restricts."""

    architecture: int
    refused: tuple[int, ...]
    clone: int
    clone3: int
    to_itself: tuple[int, ...]
    limits: int


# Sockets, other programs, other processes, namespaces, mounts, keys, and parts of the kernel that decoders
# do not need: socket socketpair execve execveat ptrace process_vm_readv process_vm_writev unshare setns
# mount open_by_handle_at add_key request_key keyctl bpf userfaultfd perf_event_open io_uring_setup
# pidfd_open pidfd_getfd, and on x86_64 fork vfork. What Landlock leaves of files: truncate (before Linux
# 6.2) fchmodat fchmodat2 fchownat utimensat setxattr lsetxattr removexattr lremovexattr setxattrat
# removexattrat, and on x86_64 chmod chown lchown utime utimes futimesat. What it leaves of processes with
# the same user: tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal setpriority ioprio_set
# sched_setparam sched_setscheduler sched_setaffinity sched_setattr; kill, tgkill and prlimit64 only reach
# this process itself.
_CALLS: Mapping[str, _Calls] = {
    "x86_64": _Calls(
        0xC000_003E,
        (
            *(41, 53, 57, 58, 59, 322, 101, 310, 311, 272, 308, 165, 304),
            *(248, 249, 250, 321, 323, 298, 425, 434, 438),
            *(76, 268, 452, 260, 280, 188, 189, 197, 198, 463, 466, 90, 92, 94, 132, 235, 261),
            *(200, 129, 297, 424, 141, 251, 142, 144, 203, 314),
        ),
        56,
        435,
        (62, 234),
        302,
    ),
    "aarch64": _Calls(
        0xC000_00B7,
        (
            *(
                198,
                199,
                221,
                281,
                117,
                270,
                271,
                97,
                268,
                40,
                265,
                217,
                218,
                219,
                280,
                282,
                241,
                425,
                434,
                438,
            ),
            *(45, 53, 452, 54, 88, 5, 6, 14, 15, 463, 466),
            *(130, 138, 240, 424, 140, 30, 118, 119, 122, 274),
        ),
        220,
        435,
        (129, 131),
        261,
    ),
}


def enter_sandbox(target: int | None = None) -> tuple[str, ...]:
    """Drop all privileges irrevocably; returns the names of the limits that this machine does not offer.

    Open files stay open. `target`: a file that may be opened again, for writing and reading. Call it before
    starting threads: running ones keep their privileges.
    """
    missing = []
    _limit()
    _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.geteuid() == 0 and not _leave_root(target):
        missing.append("user")
    if not _lock_files(target):
        missing.append("landlock")
    if not _filter_calls():
        missing.append("seccomp")
    return tuple(missing)


def _limit() -> None:
    limits = {
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_FSIZE: OUTPUT_BYTES,
        resource.RLIMIT_NOFILE: DESCRIPTORS,
        resource.RLIMIT_CORE: 0,
    }
    for which, limit in limits.items():
        resource.setrlimit(which, (limit, limit))
    os.nice(NICE)


def _leave_root(target: int | None) -> bool:
    """Switch to a user id that no other process has, or to `nobody`, who then owns the target."""
    for user in (_FIRST_USER + os.getpid(), _NOBODY):
        try:
            if target is not None:
                os.fchown(target, user, user)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:
            continue
        resource.setrlimit(resource.RLIMIT_NPROC, (THREADS, THREADS))
        # Otherwise /proc/self, through which the target is opened again, belongs to root.
        _call("prctl", _SET_DUMPABLE, 1, 0, 0, 0)
        return True
    return False


def _lock_files(target: int | None) -> bool:
    """Deny opening files except the target, TCP, and signals to others, as far as Landlock supports it."""
    try:
        version = _syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return False
    files, tcp, scopes = (_supported_rights(rights, version) for rights in (_FILES, _TCP, _SCOPES))
    handled = struct.pack("=QQQ", files, tcp, scopes)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _syscall(_CREATE_RULESET, handled, len(handled), 0)
    try:
        if target is not None:
            allowed = (_WRITE_FILE | _READ_FILE | _TRUNCATE) & files
            _syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, target), 0)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _supported_rights(rights: Mapping[int, int], version: int) -> int:
    return sum(bits for since, bits in rights.items() if since <= version)


def _filter_calls() -> bool:
    """Refuse the system calls that a decoder does not make."""
    calls = _CALLS.get(platform.machine())
    if calls is None:
        return False
    program = _program(calls)
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    try:
        _call("prctl", _SET_SECCOMP, _FILTER, ctypes.create_string_buffer(head, len(head)), 0, 0)
    except OSError:
        return False
    return True


def _program(calls: _Calls) -> bytes:
    """The BPF filter; each instruction has an opcode, two jump offsets (true, false) and a number."""
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, calls.architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        refuse,
    ]
    for number in calls.refused:
        steps += [(_JUMP_EQUAL, 0, 1, number), refuse]
    for number, process in (*((one, os.getpid()) for one in calls.to_itself), (calls.limits, 0)):
        steps += [
            (_JUMP_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_JUMP_EQUAL, 0, 1, process),
            (_RETURN, 0, 0, _ALLOW),
            refuse,
        ]
    # A filter cannot read the arguments of clone3; without it the C library starts threads with clone.
    steps += [(_JUMP_EQUAL, 0, 1, calls.clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    steps += [
        (_JUMP_EQUAL, 0, 3, calls.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_SET, 1, 0, _CLONE_THREAD),
        refuse,
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _syscall(number: int, *arguments: object) -> int:
    return _call("syscall", ctypes.c_long(number), *arguments)


def _call(name: str, *arguments: object) -> int:
    """Call a function of the C library. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    passed = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    result: int = library[name](*passed)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    print(*enter_sandbox(), sep="\n")
