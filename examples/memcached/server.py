"""A process of memcached, and the few commands of its protocol that the demo needs."""

import os
import signal
import socket
import subprocess
import time

PIPELINED = 100


class ServerError(Exception):
    """The server does not do what it should. The text says what, and shows what it printed."""


class Server:
    """One process. `environment`: what its own gets besides ours."""

    def __init__(self, program, port, environment, log, arguments=()):
        self.port, self.log = port, log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [program, *(["-u", "root"] if os.geteuid() == 0 else []), "-U", "0", "-p",
                 str(port), "-l", "127.0.0.1", "-m", "8192", *arguments],
                env={**os.environ, **environment}, stdout=out, stderr=out)

    def connect(self, limit=60):
        """A connection, as soon as the server answers."""
        until = time.monotonic() + limit
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).makefile("rwb")
            except OSError:
                if self.process.poll() is not None:
                    raise ServerError(f"the server ended with status {self.process.returncode} "
                                      f"at its start:\n{self.said()}") from None
                if time.monotonic() > until:
                    raise ServerError(f"no answer in {limit} s:\n{self.said()}") from None
                time.sleep(0.01)

    def said(self):
        """The last lines that it printed."""
        with open(self.log, "r", errors="replace") as log:
            return "".join(log.readlines()[-10:])

    def check_alive(self):
        """Raises ServerError if the process has ended by itself."""
        if self.process.poll() is not None:
            raise ServerError(f"the server ended under load with status "
                              f"{self.process.returncode}:\n{self.said()}")

    def kill(self):
        """As a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def free_port():
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def send_sets(stream, items):
    """Sends a set for each (key, value)."""
    stream.write(b"".join(b"set k%d 0 0 %d\r\n%s\r\n" % (key, len(value), value)
                          for key, value in items))


def expect(stream, line):
    """Reads one line, which must be this one."""
    answer = stream.readline()
    if answer != line:
        raise OSError(f"the server answered {answer!r}, not {line!r}")


def read_numbers(stream):
    """The answer to a stats command."""
    numbers = {}
    for line in iter(stream.readline, b"END\r\n"):
        words = line.split()
        if len(words) != 3 or words[0] != b"STAT":
            raise OSError(f"the server answered {line!r} to a stats command")
        numbers[words[1].decode()] = words[2].decode()
    return numbers


def durable_numbers(stream):
    """What "stats durable" answers, as whole numbers."""
    stream.write(b"stats durable\r\n")
    stream.flush()
    return {name: int(value) for name, value in read_numbers(stream).items()}


def read_values(stream, items):
    """Yields the value of each key in order; None: the server has none."""
    for begin in range(0, items, PIPELINED):
        keys = range(begin, min(begin + PIPELINED, items))
        stream.write(b"".join(b"get k%d\r\n" % key for key in keys))
        stream.flush()
        for _ in keys:
            head = stream.readline()
            if head == b"END\r\n":
                yield None
                continue
            if not head.startswith(b"VALUE "):
                raise OSError(f"the server answered {head!r} to a get")
            yield stream.read(int(head.split()[3]) + 2)[:-2]
            expect(stream, b"END\r\n")
