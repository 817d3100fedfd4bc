"""A server in between that changes a value: a program that does not notice tests nothing."""

import socket
import threading

TRUTH, LIE = b"first", b"f1rst"


class Liar:
    """Passes everything on to a server, and its answers back, with a word changed in them."""

    def __init__(self, port):
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        # A thread that waits in accept does not notice a close alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source, target, lie):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data.replace(TRUTH, LIE) if lie else data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side is gone
        finally:
            source.close()
