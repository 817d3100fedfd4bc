"""A `holdfast serve` that can be killed and started again on the same region."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS = 30


class ServerError(Exception):
    pass


class Server:
    """Serves a region of its own on a free port; --ack durable, so that an answer is a promise."""

    def __init__(self, program):
        self._program = program
        self._place = tempfile.mkdtemp(prefix="holdfast_clients.", dir="/dev/shm")
        self._process = None
        self.port = 0

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self._place, ignore_errors=True)

    def start(self):
        log = os.path.join(self._place, "log")
        with open(log, "wb") as out:
            self._process = subprocess.Popen(
                [self._program, "serve", "--file", os.path.join(self._place, "store.hf"),
                 "--port", "0", "--ack", "durable"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with open(log, encoding="utf-8", errors="replace") as said:
                text = said.read()
            found = re.search(r"serving .* on 127\.0\.0\.1:(\d+)", text)
            if found:
                self.port = int(found[1])
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise ServerError(f"the server did not start: {text}")

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def kill(self):
        """SIGKILL: nothing is tidied up."""
        if self.is_running():
            self._process.send_signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()


def closed_port():
    """A port that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def raw_get(port, key):
    """What a get of the key answers, without any library in between."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(f"get {key}\r\n".encode())
        answer = b""
        while not answer.endswith(b"END\r\n"):
            more = line.recv(65536)
            if not more:
                break
            answer += more
        return answer
