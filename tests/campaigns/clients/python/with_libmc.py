"""libmc."""

import libmc
from scenario import borrow, main, same_types


class Adapter:
    def __init__(self, host, port):
        self._client = libmc.Client([f"{host}:{port}"])
        self._client.config(libmc.MC_POLL_TIMEOUT, 20000)
        borrow(self, self._client, "set", "get", "add", "replace", "append", "prepend", "gets",
               "incr", "decr", "touch")

    def stats(self, name):
        (of_server,) = self._client.stats().values()
        return str(of_server[name])

    def version(self):
        (said,) = self._client.version().values()
        return said

    def cas(self, key, value, token):
        return self._client.cas(key, value, 0, token)

    def delete(self, key):
        # It takes NOT_FOUND for success; the get before tells them apart.
        there = self._client.get(key) is not None
        return self._client.delete(key) and there

    def get_many(self, keys):
        return self._client.get_multi(keys)

    def flush_all(self):
        self._client.toggle_flush_all_feature(True)
        self._client.flush_all()

    def types(self, same):
        same_types(self._client, same)


main(Adapter)
