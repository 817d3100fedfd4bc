"""The common scenario of the Python libraries: docs/server.md says what each step is about.

An adapter has the operations below as methods; those it is without it names in `lacks`. Values are
bytes. A step raises where something is not as it must be.
"""

import random
import sys
import time
import traceback

ADAPTER_STEPS = {}


def step(needs=()):
    def add(function):
        ADAPTER_STEPS[function.__name__] = (function, needs)
        return function
    return add


def same(got, wanted, what):
    if got != wanted or isinstance(got, bool) != isinstance(wanted, bool):
        raise AssertionError(f"{what}: {str(got)[:80]!r} instead of {str(wanted)[:80]!r}")


def borrow(adapter, client, *names):
    """Gives the adapter what the library calls as here and answers as here."""
    for name in names:
        setattr(adapter, name, getattr(client, name))


def same_types(client, same):
    """Values of several types come back as they were."""
    for value in (17, "text with ü", b"bytes", {"a": [1, None]}):
        same(client.set("typed", value), True, "set")
        same(client.get("typed"), value, "get")


@step(needs=("version",))
def version(c):
    text = c.version()
    if not text.startswith("1.6."):
        raise AssertionError(f"version says {text!r}")


@step(needs=("stats",))
def stats(c):
    same(c.stats("threads"), "2", "stats' threads")


@step()
def set_get(c):
    same(c.get("absent"), None, "an absent key")
    for value in (b"first", b"second one"):
        same(c.set("set_get", value), True, "set")
        same(c.get("set_get"), value, "get")


@step()
def types(c):
    c.types(same)


@step()
def empty(c):
    same(c.set("empty", b""), True, "set")
    same(c.get("empty"), b"", "get")


@step()
def binary(c):
    value = b"\r\nEND\r\n\0" + bytes(range(256)) * 2 + b"\r\n"
    same(c.set("binary", value), True, "set")
    same(c.get("binary"), value, "get")


@step()
def large(c):
    # Random, so that no library makes it short; the same in every run.
    value = random.Random(1).randbytes(900_000)
    same(c.set("large", value), True, "set")
    same(c.get("large") == value, True, "the same bytes")


@step()
def long_key(c):
    same(c.set("k" * 250, b"250"), True, "set")
    same(c.set("k" * 249, b"249"), True, "set")
    same(c.get("k" * 250), b"250", "get")


@step()
def add(c):
    same(c.add("add", b"first"), True, "add to nothing")
    same(c.add("add", b"second"), False, "add to something")
    same(c.get("add"), b"first", "get")


@step()
def replace(c):
    same(c.replace("replace", b"x"), False, "replace nothing")
    same(c.get("replace"), None, "a replace of nothing stores nothing")
    c.set("replace", b"first")
    same(c.replace("replace", b"second"), True, "replace something")
    same(c.get("replace"), b"second", "get")


@step(needs=("append", "prepend"))
def append_prepend(c):
    same(c.append("joined", b"x"), False, "append to nothing")
    same(c.prepend("joined", b"x"), False, "prepend to nothing")
    same(c.get("joined"), None, "neither stores anything")
    c.set("joined", b"middle")
    same(c.append("joined", b" end"), True, "append")
    same(c.prepend("joined", b"begin "), True, "prepend")
    same(c.get("joined"), b"begin middle end", "get")


@step(needs=("gets", "cas"))
def cas(c):
    c.set("cas", b"first")
    value, token = c.gets("cas")
    same(value, b"first", "gets")
    same(c.cas("cas", b"second", token), True, "cas with the newest token")
    same(c.cas("cas", b"third", token), False, "cas with an old token")
    same(c.get("cas"), b"second", "get")


@step()
def delete(c):
    same(c.delete("delete"), False, "delete nothing")
    c.set("delete", b"x")
    same(c.delete("delete"), True, "delete something")
    same(c.get("delete"), None, "get")


@step()
def counters(c):
    same(c.incr("counter", 1), None, "incr of nothing")
    same(c.decr("counter", 1), None, "decr of nothing")
    c.set("counter", b"10")
    same(c.incr("counter", 5), 15, "incr")
    same(c.decr("counter", 6), 9, "decr")
    same(c.decr("counter", 100), 0, "decr below 0")
    c.set("counter", b"18446744073709551614")
    same(c.incr("counter", 1), 18446744073709551615, "incr to the largest number")


@step(needs=("touch",))
def touch(c):
    same(c.touch("touched", 1), False, "touch nothing")
    c.set("touched", b"x")
    same(c.touch("touched", 1), True, "touch something")  # `expiry` sees that it is gone


@step(needs=("gat",))
def gat(c):
    same(c.gat("got_and_touched", 1), None, "gat of nothing")
    c.set("got_and_touched", b"x")
    same(c.gat("got_and_touched", 1), b"x", "gat")


@step()
def get_many(c):
    wanted = {f"many{i}": b"value %d" % i for i in range(100)}
    for key, value in wanted.items():
        c.set(key, value)
    same(c.get_many([*wanted, "absent"]), wanted, "get of 100 keys and an absent one")


@step(needs=("set_noreply",))
def noreply(c):
    for i in range(50):
        c.set_noreply(f"quiet{i % 5}", b"%d" % i)
    same([c.get(f"quiet{i}") for i in range(5)], [b"%d" % i for i in range(45, 50)], "gets behind")


@step()
def expiry(c):
    c.set("short", b"x", 2)  # seconds are whole ones: of one there may be nothing left
    c.set("long", b"x", 100)
    same(c.get("short"), b"x", "before the time")
    time.sleep(2.2)
    for key in ("short", "touched", "got_and_touched"):
        same(c.get(key), None, f"{key} after the time")
    same(c.get("long"), b"x", "one that has time left")


@step(needs=("flush_all",))
def flush_all(c):
    c.set("flushed", b"x")
    c.flush_all()
    same(c.get("flushed"), None, "get")


def scenario(adapter):
    """Every step; one that fails does not keep the others from being tried."""
    failed = False
    for name, (function, needs) in ADAPTER_STEPS.items():
        missing = [need for need in needs if not hasattr(adapter, need)]
        if missing:
            print(f"lacks {name}: no {missing[0]}")
            continue
        try:
            function(adapter)
            print(f"ok {name}", flush=True)
        except Exception as why:  # whatever it is, the step has failed
            where = traceback.extract_tb(why.__traceback__)[-1]
            print(f"FAILED {name}: {type(why).__name__} {why} ({where.name}:{where.lineno})",
                  flush=True)
            failed = True
    return failed


def one_step(name, function):
    try:
        function()
        print(f"ok {name}")
        return False
    except Exception as why:
        print(f"FAILED {name}: {type(why).__name__} {why}")
        return True


def main(make_adapter):
    """Arguments: host, port, and scenario, write or read."""
    host, port, phase = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    adapter = make_adapter(host, port)
    if phase == "write":
        failed = one_step("write", lambda: same(adapter.set("survivor", b"survivor"), True, "set"))
    elif phase == "read":
        failed = one_step("read", lambda: same(adapter.get("survivor"), b"survivor", "get"))
    else:
        failed = scenario(adapter)
    sys.exit(1 if failed else 0)
