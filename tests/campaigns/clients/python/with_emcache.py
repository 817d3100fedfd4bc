"""emcache: asyncio, driven one operation at a time."""

import asyncio

import emcache
from scenario import main


class Adapter:
    def __init__(self, host, port):
        self._loop = asyncio.new_event_loop()
        self._node = emcache.MemcachedHostAddress(host, port)
        # One connection: noreply promises an order on one connection only.
        self._client = self._do(emcache.create_client, [self._node], timeout=20, max_connections=1,
                                min_connections=1, purge_unused_connections_after=None)

    def _do(self, operation, *arguments, **named):
        async def bounded():
            return await asyncio.wait_for(operation(*arguments, **named), 20)
        return self._loop.run_until_complete(bounded())

    def _stored(self, operation, *arguments, **named):
        try:
            self._do(operation, *arguments, **named)
            return True
        except (emcache.NotStoredStorageCommandError, emcache.NotFoundCommandError):
            return False

    def _value(self, item):
        return None if item is None else item.value

    def stats(self, name):
        return self._do(self._client.stats, self._node)[name]

    def version(self):
        return self._do(self._client.version, self._node)

    def set(self, key, value, expire=0):
        return self._stored(self._client.set, key.encode(), value, exptime=expire)

    def get(self, key):
        return self._value(self._do(self._client.get, key.encode()))

    def add(self, key, value):
        return self._stored(self._client.add, key.encode(), value)

    def replace(self, key, value):
        return self._stored(self._client.replace, key.encode(), value)

    def append(self, key, value):
        return self._stored(self._client.append, key.encode(), value)

    def prepend(self, key, value):
        return self._stored(self._client.prepend, key.encode(), value)

    def gets(self, key):
        item = self._do(self._client.gets, key.encode())
        return item.value, item.cas

    def cas(self, key, value, token):
        return self._stored(self._client.cas, key.encode(), value, token)

    def delete(self, key):
        return self._stored(self._client.delete, key.encode())

    def incr(self, key, delta):
        return self._counted(self._client.increment, key, delta)

    def decr(self, key, delta):
        return self._counted(self._client.decrement, key, delta)

    def _counted(self, operation, key, delta):
        try:
            return self._do(operation, key.encode(), delta)
        except emcache.NotFoundCommandError:
            return None

    def touch(self, key, expire):
        return self._stored(self._client.touch, key.encode(), expire)

    def gat(self, key, expire):
        return self._value(self._do(self._client.gat, expire, key.encode()))

    def get_many(self, keys):
        items = self._do(self._client.get_many, [key.encode() for key in keys])
        return {key.decode(): item.value for key, item in items.items()}

    def set_noreply(self, key, value):
        self._do(self._client.set, key.encode(), value, noreply=True)

    def flush_all(self):
        self._do(self._client.flush_all, self._node)

    def types(self, same):
        self._do(self._client.set, b"typed", b"x", flags=1234)
        same(self._do(self._client.get, b"typed", return_flags=True).flags, 1234, "flags")


main(Adapter)
