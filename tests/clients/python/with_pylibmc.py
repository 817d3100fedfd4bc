"""pylibmc: libmemcached behind Python's interface."""

import pylibmc
from scenario import main


class Adapter:
    def __init__(self, host, port):
        self._client = pylibmc.Client([f"{host}:{port}"], behaviors={"cas": True})

    def stats(self, name):
        return self._client.get_stats()[0][1][name].decode()

    def version(self):
        return self.stats("version")

    def set(self, key, value, expire=0):
        return self._client.set(key, value, expire)

    def get(self, key):
        return self._client.get(key)

    def add(self, key, value):
        return self._client.add(key, value)

    def replace(self, key, value):
        return self._client.replace(key, value)

    def append(self, key, value):
        return self._client.append(key, value)

    def prepend(self, key, value):
        return self._client.prepend(key, value)

    def gets(self, key):
        return self._client.gets(key)

    def cas(self, key, value, token):
        return self._client.cas(key, value, token)

    def delete(self, key):
        return self._client.delete(key)

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

    def touch(self, key, expire):
        return self._client.touch(key, expire)

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
        for value in (17, "text with ü", b"bytes", {"a": [1, None]}):
            same(self.set("typed", value), True, "set")
            same(self._client.get("typed"), value, "get")


main(Adapter)
