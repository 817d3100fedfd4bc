"""libmc."""

import libmc
from scenario import main


class Adapter:
    def __init__(self, host, port):
        self._client = libmc.Client([f"{host}:{port}"])
        self._client.config(libmc.MC_POLL_TIMEOUT, 20000)

    def stats(self, name):
        (of_server,) = self._client.stats().values()
        return str(of_server[name])

    def version(self):
        (said,) = self._client.version().values()
        return said

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
        return self._client.cas(key, value, 0, token)

    def delete(self, key):
        # It takes NOT_FOUND for success; the get before tells them apart.
        there = self._client.get(key) is not None
        return self._client.delete(key) and there

    def incr(self, key, delta):
        return self._client.incr(key, delta)

    def decr(self, key, delta):
        return self._client.decr(key, delta)

    def touch(self, key, expire):
        return self._client.touch(key, expire)

    def get_many(self, keys):
        return self._client.get_multi(keys)

    def flush_all(self):
        self._client.toggle_flush_all_feature(True)
        self._client.flush_all()

    def types(self, same):
        for value in (17, "text with ü", b"bytes", {"a": [1, None]}):
            same(self.set("typed", value), True, "set")
            same(self._client.get("typed"), value, "get")


main(Adapter)
