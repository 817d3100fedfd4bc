"""The client libraries that `./dev client-test` runs against a server, and what each of them needs.

docs/server.md names the same libraries; driver_test.py holds the two together.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """A client library. `package` is what its language's registry calls it."""

    name: str
    language: str
    package: str
    program: str
    debian: tuple = ()


LIBRARIES = (
    Library("libmemcached", "C", "libmemcached-dev", "c/with_libmemcached.c",
            ("libmemcached-dev",)),
    Library("pymemcache", "Python", "pymemcache", "python/with_pymemcache.py"),
    Library("python-memcached", "Python", "python-memcached", "python/with_python_memcached.py"),
    Library("pylibmc", "Python", "pylibmc", "python/with_pylibmc.py"),
    Library("libmc", "Python", "libmc", "python/with_libmc.py"),
    Library("aiomcache", "Python", "aiomcache", "python/with_aiomcache.py"),
    Library("emcache", "Python", "emcache", "python/with_emcache.py"),
    Library("gomemcache", "Go", "github.com/bradfitz/gomemcache", "go/with_gomemcache.go"),
    Library("memcached", "Node", "memcached", "node/with_memcached.js"),
    Library("memcache-client", "Node", "memcache-client", "node/with_memcache_client.js"),
    Library("memcache", "Rust", "memcache", "rust/with_memcache.rs"),
    Library("async-memcached", "Rust", "async-memcached", "rust/with_async_memcached.rs"),
    Library("xmemcached", "Java", "com.googlecode.xmemcached:xmemcached",
            "java/with_xmemcached.java"),
    Library("spymemcached", "Java", "net.spy:spymemcached", "java/with_spymemcached.java"),
    Library("Cache::Memcached", "Perl", "libcache-memcached-perl", "perl/with_cache_memcached.pl",
            ("libcache-memcached-perl",)),
    Library("Cache::Memcached::Fast", "Perl", "libcache-memcached-fast-perl",
            "perl/with_cache_memcached_fast.pl", ("libcache-memcached-fast-perl",)),
    Library("php-memcached", "PHP", "php-memcached", "php/with_memcached.php",
            ("php-memcached",)),
    Library("php-memcache", "PHP", "php-memcache", "php/with_memcache.php", ("php-memcache",)),
)


def chosen(names):
    """The libraries called so, all without names. An unknown name raises KeyError."""
    known = {library.name: library for library in LIBRARIES}
    for name in names:
        if name not in known:
            raise KeyError(name)
    return tuple(one for one in LIBRARIES if not names or one.name in names)
