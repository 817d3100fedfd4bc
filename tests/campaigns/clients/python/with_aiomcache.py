"""aiomcache: asyncio, driven one operation at a time."""

import asyncio

import aiomcache
from scenario import main


class Adapter:
    def __init__(self, host, port):
        self._loop = asyncio.new_event_loop()
        self._server = (host, port)
        self._client = aiomcache.Client(host, port, pool_size=1)

    def _do(self, operation, *arguments):
        async def bounded():
            return await asyncio.wait_for(operation(*arguments), 20)
        return self._loop.run_until_complete(bounded())

    def stats(self, name):
        return self._do(self._client.stats)[name.encode()].decode()

    def version(self):
        return self._do(self._client.version).decode()

    def set(self, key, value, expire=0):
        return self._do(self._client.set, key.encode(), value, expire)

    def get(self, key):
        return self._do(self._client.get, key.encode())

    def add(self, key, value):
        return self._do(self._client.add, key.encode(), value)

    def replace(self, key, value):
        return self._do(self._client.replace, key.encode(), value)

    def append(self, key, value):
        return self._do(self._client.append, key.encode(), value)

    def prepend(self, key, value):
        return self._do(self._client.prepend, key.encode(), value)

    def gets(self, key):
        return self._do(self._client.gets, key.encode())

    def cas(self, key, value, token):
        return self._do(self._client.cas, key.encode(), value, token)

    def delete(self, key):
        return self._do(self._client.delete, key.encode())

    def incr(self, key, delta):
        return self._counted(self._client.incr, key, delta)

    def decr(self, key, delta):
        return self._counted(self._client.decr, key, delta)

    def _counted(self, operation, key, delta):
        try:
            return self._do(operation, key.encode(), delta)
        except aiomcache.ClientException as why:
            if "NOT_FOUND" not in str(why):
                raise
            return None

    def touch(self, key, expire):
        return self._do(self._client.touch, key.encode(), expire)

    def get_many(self, keys):
        values = self._do(self._client.multi_get, *[key.encode() for key in keys])
        return {key: value for key, value in zip(keys, values) if value is not None}

    def flush_all(self):
        self._do(self._client.flush_all)

    def types(self, same):
        async def read(data, flags):
            return int(data) if flags == 1234 else data

        async def write(value):
            return str(value).encode(), 1234
        typed = aiomcache.FlagClient(*self._server, pool_size=1, get_flag_handler=read,
                                     set_flag_handler=write)
        same(self._do(typed.set, b"typed", 17), True, "set")
        same(self._do(typed.get, b"typed"), 17, "get")


main(Adapter)
