// The common scenario of the Java libraries. The steps are those of python/scenario.py.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/** A library: what it has not stays as it is here, and its step is reported as lacking. */
abstract class Client {
    static final class Lacks extends RuntimeException {}

    record Versioned(Object value, long token) {}

    abstract boolean set(String key, Object value, int seconds) throws Exception;

    abstract Object get(String key) throws Exception;

    abstract boolean add(String key, Object value) throws Exception;

    abstract boolean replace(String key, Object value) throws Exception;

    abstract boolean append(String key, String value) throws Exception;

    abstract boolean prepend(String key, String value) throws Exception;

    abstract Versioned gets(String key) throws Exception;

    abstract boolean cas(String key, Object value, long token) throws Exception;

    abstract boolean delete(String key) throws Exception;

    /** -1 where there is no such key. */
    abstract long incr(String key, int delta) throws Exception;

    abstract long decr(String key, int delta) throws Exception;

    abstract boolean touch(String key, int seconds) throws Exception;

    abstract Map<String, Object> getMany(List<String> keys) throws Exception;

    abstract void flushAll() throws Exception;

    abstract String version() throws Exception;

    abstract String stats(String name) throws Exception;

    Object gat(String key, int seconds) throws Exception {
        throw new Lacks();
    }

    void setNoreply(String key, Object value) throws Exception {
        throw new Lacks();
    }
}

final class Scenario {
    private interface Step {
        void run() throws Exception;
    }

    private final Client client;
    private boolean failed;

    private Scenario(Client client) {
        this.client = client;
    }

    /** Runs a phase and ends the program, whatever threads the library has left. */
    static void run(Client client, String phase) {
        Scenario scenario = new Scenario(client);
        switch (phase) {
            case "write" -> scenario.step("write", () -> scenario.set("survivor", "survivor"));
            case "read" -> scenario.step("read", () -> scenario.reads("survivor", "survivor"));
            default -> scenario.all();
        }
        System.exit(scenario.failed ? 1 : 0);
    }

    private void all() {
        step("version", () -> same(client.version().startsWith("1.6."), true, "version"));
        step("stats", () -> same(client.stats("threads"), "2", "threads"));
        step("set_get", this::setGet);
        step("types", this::types);
        step("empty", () -> setAndRead("empty", ""));
        step("binary", this::binary);
        step("large", this::large);
        step("long_key", this::longKey);
        step("add", this::add);
        step("replace", this::replace);
        step("append_prepend", this::appendPrepend);
        step("cas", this::cas);
        step("delete", this::delete);
        step("counters", this::counters);
        step("touch", this::touch);
        step("gat", this::gat);
        step("get_many", this::getMany);
        step("noreply", this::noreply);
        step("expiry", this::expiry);
        step("flush_all", this::flushAll);
    }

    private void step(String name, Step step) {
        try {
            step.run();
            System.out.println("ok " + name);
        } catch (Client.Lacks none) {
            System.out.println("lacks " + name + ": no such operation");
        } catch (Throwable why) {
            System.out.println("FAILED " + name + ": " + why);
            failed = true;
        }
    }

    private static void same(Object got, Object wanted, String what) {
        if (!Objects.deepEquals(got, wanted)) {
            throw new AssertionError(what + ": " + got + " instead of " + wanted);
        }
    }

    private void set(String key, Object value) throws Exception {
        same(client.set(key, value, 0), true, "set");
    }

    private void reads(String key, Object value) throws Exception {
        same(client.get(key), value, "the value of " + key);
    }

    private void setAndRead(String key, Object value) throws Exception {
        set(key, value);
        reads(key, value);
    }

    private void setGet() throws Exception {
        reads("absent", null);
        setAndRead("set_get", "first");
        setAndRead("set_get", "second one");
    }

    private void types() throws Exception {
        setAndRead("typed", 17);
        setAndRead("typed", 1L << 40);
        setAndRead("typed", true);
        setAndRead("typed", new ArrayList<>(List.of("a", 1)));
    }

    private void binary() throws Exception {
        byte[] value = new byte[520];
        byte[] begin = {'\r', '\n', 'E', 'N', 'D', '\r', '\n', 0};
        System.arraycopy(begin, 0, value, 0, begin.length);
        for (int i = begin.length; i < value.length; ++i) value[i] = (byte) i;
        setAndRead("binary", value);
    }

    private void large() throws Exception {
        byte[] value = new byte[900_000];
        new Random(1).nextBytes(value);
        setAndRead("large", value);
    }

    private void longKey() throws Exception {
        set("k".repeat(250), "250");
        set("k".repeat(249), "249");
        reads("k".repeat(250), "250");
    }

    private void add() throws Exception {
        same(client.add("add", "first"), true, "add to nothing");
        same(client.add("add", "second"), false, "add to something");
        reads("add", "first");
    }

    private void replace() throws Exception {
        same(client.replace("replace", "x"), false, "replace nothing");
        set("replace", "first");
        same(client.replace("replace", "second"), true, "replace something");
        reads("replace", "second");
    }

    private void appendPrepend() throws Exception {
        same(client.append("joined", "x"), false, "append to nothing");
        set("joined", "middle");
        same(client.append("joined", " end"), true, "append");
        same(client.prepend("joined", "begin "), true, "prepend");
        reads("joined", "begin middle end");
    }

    private void cas() throws Exception {
        set("cas", "first");
        Client.Versioned found = client.gets("cas");
        same(found.value(), "first", "gets");
        same(client.cas("cas", "second", found.token()), true, "cas with the newest token");
        same(client.cas("cas", "third", found.token()), false, "cas with an old token");
        reads("cas", "second");
    }

    private void delete() throws Exception {
        same(client.delete("delete"), false, "delete nothing");
        set("delete", "x");
        same(client.delete("delete"), true, "delete something");
        reads("delete", null);
    }

    private void counters() throws Exception {
        same(client.incr("no_counter", 1), -1L, "incr of nothing");
        same(client.decr("no_other_counter", 1), -1L, "decr of nothing");
        set("counter", "10");
        same(client.incr("counter", 5), 15L, "incr");
        same(client.decr("counter", 6), 9L, "decr");
        same(client.decr("counter", 100), 0L, "decr below 0");
    }

    private void touch() throws Exception {
        same(client.touch("touched", 1), false, "touch nothing");
        set("touched", "x");
        same(client.touch("touched", 1), true, "touch something");
    }

    private void gat() throws Exception {
        same(client.gat("got_and_touched", 1), null, "gat of nothing");
        set("got_and_touched", "x");
        same(client.gat("got_and_touched", 1), "x", "gat");
    }

    private void getMany() throws Exception {
        Map<String, Object> wanted = new HashMap<>();
        for (int i = 0; i < 100; ++i) wanted.put("many" + i, "value " + i);
        for (var each : wanted.entrySet()) set(each.getKey(), each.getValue());
        List<String> keys = new ArrayList<>(wanted.keySet());
        keys.add("absent");
        same(new HashMap<>(client.getMany(keys)), wanted, "all of them");
    }

    private void noreply() throws Exception {
        for (int i = 0; i < 50; ++i) client.setNoreply("quiet" + i % 5, "" + i);
        for (int i = 45; i < 50; ++i) reads("quiet" + i % 5, "" + i);
    }

    private void expiry() throws Exception {
        same(client.set("short", "x", 2), true, "set");
        same(client.set("long", "x", 100), true, "set");
        reads("short", "x");
        Thread.sleep(2200);
        reads("short", null);
        reads("touched", null);
        reads("got_and_touched", null);
        reads("long", "x");
    }

    private void flushAll() throws Exception {
        set("flushed", "x");
        client.flushAll();
        reads("flushed", null);
    }
}
