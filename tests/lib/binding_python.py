# SPDX-License-Identifier: Apache-2.0
"""The Python module at work; in a directory of its own. AGENTBOX is the program."""
import os
import pathlib
import signal
import subprocess
import sys
import threading

import agentbox

PROGRAM = os.environ["AGENTBOX"]


def raises(name, call):
    try:
        call()
    except agentbox.AgentboxError as e:
        assert e.name == name, (e.name, str(e))
        return e
    raise AssertionError(f"no {name}")


def test_run():
    with agentbox.Manager() as box:
        result = box.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n"), result
        assert result.sandboxed and result.signal is None and not result.timed_out
        assert box.run("cat; echo $HOME", env={"HOME": "/x", "PATH": os.environ["PATH"]}).stdout == b"/x\n"
        assert box.run("pwd", cwd="/usr").stdout == b"/usr\n"
        assert box.run("sleep 60", timeout=0.3).timed_out
        assert box.run("printf 'a\\0b'").stdout == b"a\0b"
        e = raises("ABX_E_EXEC", lambda: box.run(["no-such-program"]))
        assert "no-such-program" in str(e) and e.hint
        raises("ABX_E_FORBIDDEN", lambda: box.run("rm -rf /"))
    try:
        box.run("true")
    except ValueError:
        pass
    else:
        raise AssertionError("a closed manager runs")


def test_stream():
    seen = []
    with agentbox.Manager() as box:

        def output(stream, data):
            seen.append((stream, data))
            if b"one" in data:
                open("go", "w", encoding="ascii").close()  # the command waits for it

        result = box.run("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2", output=output, timeout=60)
    os.unlink("go")
    assert result.exit_code == 0 and seen == [(1, b"one\n"), (2, b"two\n")], seen


def test_input():
    with agentbox.Manager() as box:
        data = bytes(range(256)) * 4096  # more than a pipe holds
        assert box.run(["cat"], input=data).stdout == data
        assert box.run(["true"], input=data).exit_code == 0
        assert box.run("cat", input=b"").stdout == b""


def test_stranger():
    """What somebody tries who has not read anything."""
    with agentbox.Manager() as box:
        assert box.run([pathlib.Path("/bin/echo"), b"x"]).stdout == b"x\n"
        assert box.run(b"echo x", cwd=pathlib.Path("/")).stdout == b"x\n"
        assert box.run("ulimit -n", settings={"resourceLimits.maxFileDescriptors": 99, "docker": False}).stdout == b"99\n"
        for command in (None, 5):
            try:
                box.run(command)
            except TypeError as problem:
                assert "a text, or a sequence of words" in str(problem)
                continue
            raise AssertionError("that is no command")
        for command in ("echo a\0b", ["echo", "a\0b"]):
            try:
                box.run(command)
            except ValueError:
                continue
            raise AssertionError("a NUL was cut off")
        e = raises("ABX_E_CONFIG", lambda: box.update({"filesytem": {}, "network": {"mode": "x"}}))
        assert len(e.problems) == 2 and "filesytem" in str(e) and "network.mode" in str(e), e.problems

        def output(_stream, _data):
            raise KeyError("mine")

        try:
            box.run("echo x; sleep 60", output=output)
        except KeyError:
            pass
        else:
            raise AssertionError("the callback's error is lost")

        def interrupt(_stream, _data):
            os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # who is started in the background ignores it
        try:
            box.run("echo ready; sleep 60", output=interrupt)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("Ctrl-C was not heard")
        assert box.run("true").exit_code == 0
    done = subprocess.run([sys.executable, "-c", "import agentbox"], env={**os.environ, "AGENTBOX_LIBRARY": "/nowhere.so"},
                          stderr=subprocess.PIPE, check=False)
    assert b"ImportError" in done.stderr and b"AGENTBOX_LIBRARY" in done.stderr, done.stderr


def test_approve():
    asked = []

    def approve(question):
        asked.append(question)
        if "777" in question.command:
            raise RuntimeError("cannot ask")
        return "1234567" in question.command

    with agentbox.Manager(approve=approve) as box:
        assert box.check("kill 1234567").decision == "escalated" and not asked
        assert box.run("kill 1234567").exit_code == 1
        raises("ABX_E_ESCALATED", lambda: box.run("kill 7654321"))
        raises("ABX_E_ESCALATED", lambda: box.run("kill 777"))
    assert [q.rule for q in asked] == ["process-kill"] * 3 and asked[0].cwd == os.getcwd()
    with agentbox.Manager() as box:
        raises("ABX_E_ESCALATED", lambda: box.run("kill 1234567"))


def test_update():
    other = os.environ["OTHER"]
    with agentbox.Manager() as box:
        assert box.run(["touch", other + "/a"]).exit_code != 0
        box.update({"filesystem": {"rw": [other]}})
        assert box.run(["touch", other + "/a"]).exit_code == 0
        e = raises("ABX_E_CONFIG", lambda: box.update({"filesystem": {"rx": []}}))
        assert "rx" in str(e)
        assert box.run(["touch", other + "/b"]).exit_code == 0
        assert box.run(["touch", other + "/c"], settings={"filesystem.ro": [other]}).exit_code != 0
        assert sorted(os.listdir(other)) == ["a", "b"]


def test_violations():
    with agentbox.Manager(program=PROGRAM) as box:
        result = box.run(["curl", "-sS", "--max-time", "30", "https://refused.example.com"])
        assert result.exit_code != 0
        found = [v for v in result.violations if v["host"] == "refused.example.com"]
        assert found and found[0]["operation"] == "network" and found[0]["port"] == 443, result.violations
        assert "--allow-domain" in found[0]["grant"]


def test_threads():
    with agentbox.Manager() as box:
        results = [None] * 4

        def work(i):
            results[i] = box.run(f"echo {i}").stdout

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert results == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_close():
    """From another thread at any moment, from a callback, twice."""
    box = agentbox.Manager()
    made, closed = threading.Event(), threading.Event()
    said = []

    def set_up(*_arguments):  # between the call and the library
        made.set()
        closed.wait(1)

    def work():
        try:
            box.run("sleep 60")
        except (ValueError, agentbox.AgentboxError) as problem:
            said.append(problem)

    box._set = set_up
    late = threading.Thread(target=work)
    late.start()
    made.wait()
    box.close()
    closed.set()
    late.join()
    box.close()
    assert len(said) == 1 and isinstance(said[0], ValueError), said

    box = agentbox.Manager()
    started = threading.Event()

    def run():
        said.append(box.run("sleep 0.2; echo x; sleep 60", output=lambda *_: started.set()))

    running = threading.Thread(target=run)
    running.start()
    started.wait()
    closers = [threading.Thread(target=box.close) for _ in range(4)]
    for t in closers:
        t.start()
    for t in closers + [running]:
        t.join()
    assert said[1].signal == 9, said[1]

    with agentbox.Manager() as box:
        try:
            box.run("sleep 0.2; echo x; sleep 60", output=lambda *_: box.close())
        except RuntimeError as problem:
            assert "callback" in str(problem)
        else:
            raise AssertionError("a callback closed its manager")
        assert box.run("true").exit_code == 0

    box = agentbox.Manager()
    signal.signal(signal.SIGUSR1, lambda *_: box.close())
    assert box.run("sleep 0.2; echo x; sleep 60", output=lambda *_: os.kill(os.getpid(), signal.SIGUSR1)).signal == 9
    box.close()
    pid = os.fork()
    if pid == 0:
        box.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_interrupt_at_once():
    """Ctrl-C while the thread that runs it is being started."""

    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            raise KeyboardInterrupt

    class Late(threading.Thread):
        def start(self):
            threading.Timer(0.2, super().start).start()
            raise KeyboardInterrupt

    before = threading.active_count()
    with agentbox.Manager() as box:
        for kind in (Interrupted, Late):
            plain, agentbox.threading.Thread = threading.Thread, kind
            try:
                box.run("sleep 60")
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError("Ctrl-C was not heard")
            finally:
                agentbox.threading.Thread = plain
            assert kind is Late or threading.active_count() == before
    while threading.active_count() > before:
        pass


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
