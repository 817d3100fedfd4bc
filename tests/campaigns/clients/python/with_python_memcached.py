"""python-memcached. It says 0 and None where others say why, so a failure shows as that."""

import memcache
from scenario import main, same_types


class Adapter:
    def __init__(self, host, port):
        self._client = memcache.Client([f"{host}:{port}"], socket_timeout=20, cache_cas=True)

    def stats(self, name):
        return self._client.get_stats()[0][1][name]

    def version(self):
        return self.stats("version")

    def set(self, key, value, expire=0):
        return bool(self._client.set(key, value, expire))

    def get(self, key):
        return self._client.get(key)

    def add(self, key, value):
        return bool(self._client.add(key, value))

    def replace(self, key, value):
        return bool(self._client.replace(key, value))

    def append(self, key, value):
        return bool(self._client.append(key, value))

    def prepend(self, key, value):
        return bool(self._client.prepend(key, value))

    def gets(self, key):
        value = self._client.gets(key)
        return value, self._client.cas_ids[key.encode()]

    def cas(self, key, value, token):
        # Its table of tokens is its interface.
        self._client.cas_ids[key.encode()] = token
        return bool(self._client.cas(key, value))

    def delete(self, key):
        # 1 for DELETED as well as for NOT_FOUND; the server's answer tells them apart.
        there = self._client.get(key) is not None
        return bool(self._client.delete(key)) and there

    def incr(self, key, delta):
        return self._client.incr(key, delta)

    def decr(self, key, delta):
        return self._client.decr(key, delta)

    def touch(self, key, expire):
        return bool(self._client.touch(key, expire))

    def get_many(self, keys):
        return self._client.get_multi(keys)

    def set_noreply(self, key, value):
        self._client.set(key, value, noreply=True)

    def flush_all(self):
        self._client.flush_all()

    def types(self, same):
        same_types(self, same)


main(Adapter)
