"""pymemcache."""

from pymemcache.client.base import Client
from pymemcache.serde import pickle_serde
from scenario import borrow, main, same_types


class Adapter:
    def __init__(self, host, port):
        self._server = (host, port)
        self._client = Client(self._server, timeout=20, default_noreply=False)
        borrow(self, self._client, "add", "replace", "append", "prepend", "delete", "incr", "decr",
               "touch", "get", "cas", "flush_all")

    def version(self):
        return self._client.version().decode()

    def stats(self, name):
        return str(self._client.stats()[name.encode()])

    def set(self, key, value, expire=0):
        return self._client.set(key, value, expire)

    def gets(self, key):
        return self._client.gets(key)

    def get_many(self, keys):
        return self._client.get_many(keys)

    def set_noreply(self, key, value):
        self._client.set(key, value, noreply=True)

    def types(self, same):
        typed = Client(self._server, serde=pickle_serde, default_noreply=False)
        same_types(typed, same)


main(Adapter)
