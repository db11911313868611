# SPDX-License-Identifier: Apache-2.0
"""agentbox: run commands that nobody vouches for in a sandbox of the host's kernel.

    import agentbox

    with agentbox.Manager({"filesystem": {"exclude": [".env"]}}) as box:
        result = box.run(["make", "test"], timeout=60)
        print(result.exit_code, result.stdout.decode())
        for v in result.violations:
            print(v["operation"], v["path"] or v["host"], "->", v["grant"])

A thin layer over libagentbox (ctypes, nothing else to install). Configurations are dicts with the keys of the
configuration file; `agentbox help keys` lists them. The library is looked for by its name, or where
AGENTBOX_LIBRARY says. A manager may be used from several threads. Ctrl-C in the main thread ends the command that
it waits for.
"""
from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import json
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

__all__ = ["AgentboxError", "Check", "Manager", "Question", "Result", "inside", "version"]

Config = Mapping[str, Any]
Text = Union[str, bytes, "os.PathLike[str]"]
Command = Union[str, bytes, Sequence[Text]]  # shell text, or a program with its arguments
Scalar = Union[bool, int, Text]
_P = ctypes.c_void_p
_S = ctypes.c_char_p
_PP = ctypes.POINTER(_P)
_APPROVE = ctypes.CFUNCTYPE(ctypes.c_int32, _P, _P)
_NOTICE = ctypes.CFUNCTYPE(None, _P, ctypes.c_int32, _S, _S)
_OUTPUT = ctypes.CFUNCTYPE(None, _P, ctypes.c_int32, _P, ctypes.c_size_t)


class _Hooks(ctypes.Structure):
    """The front of abx_hooks; its size tells the library how much of it is meant."""

    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("notice", _NOTICE), ("user", _P),
                ("user_free", _P), ("helper_dir", _S), ("approve", _APPROVE), ("classify", _P),
                ("approval_lookup", _P), ("approval_store", _P), ("log_file", _S), ("program", _S)]


# name: (result, arguments). The last argument of what returns _CODE is the error, and is not listed.
_CODE = ctypes.c_int32
_FUNCTIONS = {
    "abx_version": (_S, []),
    "abx_inside": (ctypes.c_int32, []),
    "abx_free": (None, [_P]),
    "abx_error_code": (ctypes.c_int32, [_P]),
    "abx_error_name": (_S, [ctypes.c_int32]),
    "abx_error_message": (_S, [_P]),
    "abx_error_hint": (_S, [_P]),
    "abx_error_next": (_P, [_P]),
    "abx_error_free": (None, [_P]),
    "abx_config_new": (_CODE, [_PP]),
    "abx_config_parse": (_CODE, [_P, _S, _S, ctypes.c_size_t, _S]),
    "abx_config_free": (None, [_P]),
    "abx_manager_new": (_CODE, [_P, ctypes.POINTER(_Hooks), _PP]),
    "abx_manager_update": (_CODE, [_P, _P]),
    "abx_manager_close": (_CODE, [_P, ctypes.c_int32]),
    "abx_manager_free": (None, [_P]),
    "abx_manager_run": (_CODE, [_P, _P, _PP]),
    "abx_manager_check": (_CODE, [_P, _P, _PP]),
    "abx_command_new": (_CODE, [ctypes.POINTER(_S), _PP]),
    "abx_command_new_shell": (_CODE, [_S, _PP]),
    "abx_command_set_cwd": (_CODE, [_P, _S]),
    "abx_command_set_env": (_CODE, [_P, ctypes.POINTER(_S)]),
    "abx_command_set_timeout": (_CODE, [_P, ctypes.c_int64]),
    "abx_command_set_output": (_CODE, [_P, _OUTPUT, _P]),
    "abx_command_set_stdio": (_CODE, [_P, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]),
    "abx_command_set_string": (_CODE, [_P, _S, _S]),
    "abx_command_append": (_CODE, [_P, _S, _S]),
    "abx_command_cancel": (None, [_P]),
    "abx_command_free": (None, [_P]),
    "abx_check_json": (_CODE, [_P, _PP]),
    "abx_check_free": (None, [_P]),
    "abx_question_command": (_S, [_P]),
    "abx_question_part": (_S, [_P]),
    "abx_question_rule": (_S, [_P]),
    "abx_question_reason": (_S, [_P]),
    "abx_question_cwd": (_S, [_P]),
    "abx_result_json": (_CODE, [_P, _PP]),
    "abx_result_stdout": (_P, [_P, ctypes.POINTER(ctypes.c_size_t)]),
    "abx_result_stderr": (_P, [_P, ctypes.POINTER(ctypes.c_size_t)]),
    "abx_result_free": (None, [_P]),
}


class AgentboxError(Exception):
    """A call failed. name is the code ("ABX_E_FORBIDDEN", …), hint says what to do, or is empty.

    A configuration may have several problems: problems has the message and hint of each, the first included.
    """

    def __init__(self, name: str, problems: Sequence[Tuple[str, str]]) -> None:
        super().__init__("; ".join(message + (f" ({hint})" if hint else "") for message, hint in problems))
        self.name, self.problems = name, list(problems)
        self.message, self.hint = problems[0]


@dataclass(frozen=True)
class Question:
    """What an approver is asked. Texts are escaped: they are safe to print."""

    command: str
    part: str
    rule: str
    reason: str
    cwd: str


@dataclass(frozen=True)
class Check:
    """What the classifier thinks: allow, sandboxed, escalated or forbidden."""

    decision: str
    rule: str
    reason: str
    part: str


@dataclass(frozen=True)
class Result:
    """How a command ended; raw is everything that `agentbox run --result` would have written."""

    exit_code: int
    signal: Optional[int]
    timed_out: bool
    sandboxed: bool
    stdout: bytes
    stderr: bytes
    violations: List[Dict[str, Any]]
    raw: Dict[str, Any] = field(repr=False)


def _load() -> ctypes.CDLL:
    path = os.environ.get("AGENTBOX_LIBRARY") or ctypes.util.find_library("agentbox") or "libagentbox.so.0"
    try:
        library = ctypes.CDLL(path, use_errno=False)
    except OSError as problem:
        raise ImportError(f"load libagentbox: {problem} (install it, or name it in AGENTBOX_LIBRARY)") from problem
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments + ([_PP] if result is _CODE and name.startswith(_FALLIBLE) else [])
    return library


_FALLIBLE = ("abx_config_new", "abx_config_parse", "abx_manager_new", "abx_manager_update", "abx_manager_close",
             "abx_manager_run", "abx_manager_check", "abx_command_", "abx_check_json", "abx_result_json")
_lib = _load()


def _call(name: str, *arguments: Any) -> None:
    """A fallible call; the error becomes an exception."""
    err = _P()
    if getattr(_lib, name)(*arguments, ctypes.byref(err)) == 0:
        return
    name, problems, one = _lib.abx_error_name(_lib.abx_error_code(err)).decode(), [], err
    while one:
        problems.append((_lib.abx_error_message(one).decode(errors="replace"),
                         _lib.abx_error_hint(one).decode(errors="replace")))
        one = _lib.abx_error_next(one)
    _lib.abx_error_free(err)
    raise AgentboxError(name, problems)


def _made(name: str, *arguments: Any) -> _P:
    """A fallible call that makes something, which comes just before the error."""
    made = _P()
    _call(name, *arguments, ctypes.byref(made))
    return made


def _json(name: str, thing: _P) -> Any:
    text = _made(name, thing)
    try:
        return json.loads(ctypes.string_at(text).decode())
    finally:
        _lib.abx_free(text)


def _text(text: Text) -> bytes:
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError("a text holds a NUL")
    return encoded


def _words(words: Sequence[Text]) -> ctypes.Array:
    return (_S * (len(words) + 1))(*map(_text, words), None)


def _scalar(value: Scalar) -> bytes:
    """As the configuration writes it: true, 10, text."""
    return str(value).lower().encode() if isinstance(value, (bool, int)) else _text(value)


def _settings(config: Optional[Config]) -> _P:
    made = _made("abx_config_new")
    try:
        if config:
            text = json.dumps(config).encode()
            _call("abx_config_parse", made, b"config", text, len(text), b"json")
    except BaseException:
        _lib.abx_config_free(made)
        raise
    return made


def version() -> str:
    return _lib.abx_version().decode()


def inside() -> bool:
    """Whether this process runs in a sandbox of agentbox."""
    return _lib.abx_inside() == 1


class _Input:
    """Bytes that a command reads: a pipe, and a thread that fills it, until the command is over."""

    def __init__(self, made: _P, data: Optional[bytes]) -> None:
        self.reader = self.writer = -1
        if data is None:
            return
        self.reader, self.writer = os.pipe()

        def fill() -> None:
            with open(self.writer, "wb", buffering=0) as pipe:
                rest = memoryview(data)
                try:
                    while rest:
                        rest = rest[pipe.write(rest):]
                except BrokenPipeError:
                    pass  # the command does not want it all

        self.thread = threading.Thread(target=fill, daemon=True)
        _call("abx_command_set_stdio", made, 0, 4, self.reader)  # ABX_STDIO_FD

    def __enter__(self) -> None:
        if self.reader < 0:
            return
        try:
            self.thread.start()
        except RuntimeError:  # no more threads
            os.close(self.reader)
            os.close(self.writer)
            raise

    def __exit__(self, *_exception: Any) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.thread.join()


def _interruptible(made: _P, call: Callable[[], _P]) -> _P:
    """call(), which C does not leave before the command is over. Only the main thread gets signals, and only between
    two lines of Python: so there another one calls, and Ctrl-C ends the command."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: List[_P] = []
    problems: List[BaseException] = []
    over = threading.Event()  # Thread.join, interrupted once, takes a thread that runs for one that has ended
    first = threading.Lock()  # whose it is: the thread's, or that of an interrupt which came before it

    def work() -> None:
        if not first.acquire(blocking=False):
            return
        try:
            done.append(call())
        except BaseException as problem:  # pylint: disable=broad-except # raised again below
            problems.append(problem)
        finally:
            over.set()

    try:
        threading.Thread(target=work).start()
        over.wait()
    except BaseException:
        if not first.acquire(blocking=False):
            _lib.abx_command_cancel(made)
            while not over.is_set():  # it uses what the caller is about to free
                try:
                    over.wait()
                except KeyboardInterrupt:
                    pass
        for handle in done:
            _lib.abx_result_free(handle)
        raise
    if problems:
        raise problems[0]
    return done[0]


class Manager:
    """Runs commands by one configuration. approve is asked about what needs an approval; without it, that is refused.

    An approver that raises has said no. notice gets what a person may want to see. Both, and output of run, may be
    called by a thread of their own. program is the path of
    `agentbox`, for filtered networks, if it is not installed where the library expects it.
    """

    def __init__(self, config: Optional[Config] = None, approve: Optional[Callable[[Question], bool]] = None,
                 notice: Optional[Callable[[str], None]] = None, program: Optional[str] = None) -> None:
        hooks = _Hooks(size=ctypes.sizeof(_Hooks))
        if program:
            hooks.program = os.fsencode(program)
        self._handle: Optional[_P] = None
        self._left: Optional[_P] = None  # closed, but in use
        self._owner = os.getpid()
        self._users: List[int] = []  # threads that are at it; under the condition
        self._calling: List[int] = []  # threads that are in a callback
        self._idle = threading.Condition()
        if approve:
            hooks.approve = _APPROVE(lambda _user, question: self._callback(self._approve, approve, question))
        if notice:
            hooks.notice = _NOTICE(lambda _user, _level, _module, text: self._callback(
                notice, text.decode(errors="replace")))
        self._hooks = hooks  # the callbacks must live as long as the manager
        settings = _settings(config)
        try:
            self._handle = _made("abx_manager_new", settings, ctypes.byref(hooks))
        finally:
            _lib.abx_config_free(settings)

    @staticmethod
    def _approve(approve: Callable[[Question], bool], question: _P) -> int:
        def text(name: str) -> str:
            return getattr(_lib, "abx_question_" + name)(question).decode(errors="replace")

        try:
            return 1 if approve(Question(*map(text, ("command", "part", "rule", "reason", "cwd")))) is True else 0
        except BaseException:  # pylint: disable=broad-except # nothing may fly through C
            return -1

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends what runs and waits for it; from any thread, but not from a callback."""
        if threading.get_ident() in self._calling:
            raise RuntimeError("a callback cannot close its manager, which would wait for it")
        if os.getpid() != self._owner:  # forked: what runs is the parent's, and so are all other threads
            self._users, self._idle = [], threading.Condition()
        with self._idle:
            handle, self._handle = self._handle, None  # whoever comes now is refused
        if handle and os.getpid() == self._owner:
            _call("abx_manager_close", handle, -1)
        with self._idle:
            self._left = handle or self._left
            self._free_if_idle()
            if threading.get_ident() not in self._users:  # a signal's handler, in the middle of run
                self._idle.wait_for(lambda: not self._users)

    def _free_if_idle(self) -> None:
        """With the condition: the last who uses it frees what was closed."""
        if self._left and not self._users:
            left, self._left = self._left, None
            _lib.abx_manager_free(left)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _callback(self, call: Callable[..., Any], *arguments: Any) -> Any:
        self._calling.append(threading.get_ident())
        try:
            return call(*arguments)
        finally:
            self._calling.remove(threading.get_ident())

    @contextlib.contextmanager
    def _open(self) -> Iterator[_P]:
        """The manager, which is not freed before its user is done."""
        with self._idle:
            handle = self._handle
            if not handle:
                raise ValueError("the manager is closed")
            self._users.append(threading.get_ident())
        try:
            yield handle
        finally:
            with self._idle:
                self._users.remove(threading.get_ident())
                self._free_if_idle()
                self._idle.notify_all()

    def update(self, config: Optional[Config]) -> None:
        """Another configuration for the commands to come. If it is wrong, the old one stays."""
        settings = _settings(config)
        try:
            with self._open() as manager:
                _call("abx_manager_update", manager, settings)
        finally:
            _lib.abx_config_free(settings)

    @staticmethod
    def _command(command: Command) -> _P:
        if isinstance(command, (str, bytes)):
            return _made("abx_command_new_shell", _text(command))
        if not isinstance(command, (list, tuple)) and not hasattr(command, "__len__"):
            raise TypeError(f"a command is a text, or a sequence of words, not {command!r}")
        return _made("abx_command_new", _words(command))

    def check(self, command: Command) -> Check:
        """The verdict alone: nobody is asked, nothing runs."""
        made = self._command(command)
        try:
            with self._open() as manager:
                verdict = _made("abx_manager_check", manager, made)
            try:
                said = _json("abx_check_json", verdict)
            finally:
                _lib.abx_check_free(verdict)
        finally:
            _lib.abx_command_free(made)
        return Check(said["decision"], said["rule"] or "", said["reason"] or "", said["part"] or "")

    def run(self, command: Command, *, cwd: Optional[Text] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[float] = None, input: Optional[bytes] = None,  # pylint: disable=redefined-builtin
            settings: Optional[Mapping[str, Union[Scalar, Sequence[Text]]]] = None,
            output: Optional[Callable[[int, bytes], None]] = None) -> Result:
        """Runs shell text (str) or a program with arguments (sequence), and waits.

        settings: keys of this command alone; a list is appended, anything else is set. input is what it reads.
        output gets the bytes of streams 1 and 2 as they come; if it raises, the command is ended, and so does run.
        """
        made = self._command(command)
        problems: List[BaseException] = []

        def on_output(_user: Any, stream: int, data: int, size: int) -> None:
            try:
                if output and not problems:
                    self._callback(output, stream, ctypes.string_at(data, size))
            except BaseException as problem:  # pylint: disable=broad-except # nothing may fly through C
                problems.append(problem)
                _lib.abx_command_cancel(made)

        callback = _OUTPUT(on_output)
        try:
            self._set(made, cwd, env, timeout, settings)
            if output:
                _call("abx_command_set_output", made, callback, None)
            with self._open() as manager, _Input(made, input):
                handle = _interruptible(made, lambda: _made("abx_manager_run", manager, made))
            result = self._result(handle)
        except AgentboxError:
            if not problems:
                raise
        finally:
            _lib.abx_command_free(made)
        if problems:
            raise problems[0]
        return result

    @staticmethod
    def _set(made: _P, cwd: Optional[Text], env: Optional[Mapping[str, str]], timeout: Optional[float],
             settings: Optional[Mapping[str, Union[Scalar, Sequence[Text]]]]) -> None:
        if cwd is not None:
            _call("abx_command_set_cwd", made, _text(cwd))
        if env is not None:
            _call("abx_command_set_env", made, _words([f"{k}={v}" for k, v in env.items()]))
        if timeout is not None:
            _call("abx_command_set_timeout", made, max(1, int(timeout * 1000)))
        for key, value in (settings or {}).items():
            if isinstance(value, (list, tuple)):
                for entry in value:
                    _call("abx_command_append", made, key.encode(), _text(entry))
            else:
                _call("abx_command_set_string", made, key.encode(), _scalar(value))

    @staticmethod
    def _result(handle: _P) -> Result:
        def stream(name: str) -> bytes:
            size = ctypes.c_size_t()
            data = getattr(_lib, "abx_result_" + name)(handle, ctypes.byref(size))
            return ctypes.string_at(data, size.value) if data else b""

        try:
            raw = _json("abx_result_json", handle)
            return Result(raw["exitCode"], raw["signal"], raw["timedOut"], raw["sandboxed"], stream("stdout"),
                          stream("stderr"), raw["violations"], raw)
        finally:
            _lib.abx_result_free(handle)
