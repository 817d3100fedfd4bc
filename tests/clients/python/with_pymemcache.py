"""pymemcache."""

from pymemcache.client.base import Client
from pymemcache.serde import pickle_serde
from scenario import main


class Adapter:
    def __init__(self, host, port):
        self._server = (host, port)
        self._client = Client(self._server, timeout=20, default_noreply=False)
        for name in ("add", "replace", "append", "prepend", "delete", "incr", "decr", "touch",
                     "get", "cas", "flush_all"):
            setattr(self, name, getattr(self._client, name))

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
        for value in (17, "text with ü", b"bytes", {"a": [1, None]}):
            same(typed.set("typed", value), True, "set")
            same(typed.get("typed"), value, "get")


main(Adapter)
