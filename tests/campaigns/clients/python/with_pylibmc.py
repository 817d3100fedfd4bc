"""pylibmc: libmemcached behind Python's interface."""

import pylibmc
from scenario import borrow, main, same_types


class Adapter:
    def __init__(self, host, port):
        self._client = pylibmc.Client([f"{host}:{port}"], behaviors={"cas": True})
        borrow(self, self._client, "set", "get", "add", "replace", "append", "prepend", "gets",
               "cas", "delete", "touch")

    def stats(self, name):
        return self._client.get_stats()[0][1][name].decode()

    def version(self):
        return self.stats("version")

    def incr(self, key, delta):
        return self._counted(self._client.incr, key, delta)

    def decr(self, key, delta):
        return self._counted(self._client.decr, key, delta)

    @staticmethod
    def _counted(operation, key, delta):
        try:
            return operation(key, delta)
        except pylibmc.NotFound:
            return None

    def get_many(self, keys):
        return self._client.get_multi(keys)

    def set_noreply(self, key, value):
        # Behaviour is of a client; the connection stays the same, so the order does, too.
        self._client.behaviors["_noreply"] = 1
        self._client.set(key, value)
        self._client.behaviors["_noreply"] = 0

    def flush_all(self):
        self._client.flush_all()

    def types(self, same):
        same_types(self._client, same)


main(Adapter)
