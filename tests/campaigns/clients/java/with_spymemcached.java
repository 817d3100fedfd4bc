// spymemcached; the text protocol is its default.

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASResponse;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.MemcachedClient;

final class with_spymemcached extends Client {
    private final MemcachedClient client;

    private with_spymemcached(String server) throws Exception {
        var factory = new ConnectionFactoryBuilder().setOpTimeout(20_000).build();
        client = new MemcachedClient(factory, AddrUtil.getAddresses(server));
    }

    public static void main(String[] arguments) throws Exception {
        Scenario.run(new with_spymemcached(arguments[0] + ":" + arguments[1]), arguments[2]);
    }

    // It would wait without end.
    private static <T> T within(java.util.concurrent.Future<T> answer) throws Exception {
        return answer.get(20, TimeUnit.SECONDS);
    }

    @Override
    boolean set(String key, Object value, int seconds) throws Exception {
        return within(client.set(key, seconds, value));
    }

    @Override
    Object get(String key) {
        return client.get(key);
    }

    @Override
    boolean add(String key, Object value) throws Exception {
        return within(client.add(key, 0, value));
    }

    @Override
    boolean replace(String key, Object value) throws Exception {
        return within(client.replace(key, 0, value));
    }

    @Override
    boolean append(String key, String value) throws Exception {
        return within(client.append(key, value));
    }

    @Override
    boolean prepend(String key, String value) throws Exception {
        return within(client.prepend(key, value));
    }

    @Override
    Versioned gets(String key) {
        var found = client.gets(key);
        return new Versioned(found.getValue(), found.getCas());
    }

    @Override
    boolean cas(String key, Object value, long token) {
        return client.cas(key, token, value) == CASResponse.OK;
    }

    @Override
    boolean delete(String key) throws Exception {
        return within(client.delete(key));
    }

    @Override
    long incr(String key, int delta) {
        return client.incr(key, delta);
    }

    @Override
    long decr(String key, int delta) {
        return client.decr(key, delta);
    }

    @Override
    boolean touch(String key, int seconds) throws Exception {
        return within(client.touch(key, seconds));
    }

    @Override
    Map<String, Object> getMany(List<String> keys) {
        return client.getBulk(keys);
    }

    @Override
    void flushAll() throws Exception {
        within(client.flush());
    }

    @Override
    String version() {
        return client.getVersions().values().iterator().next();
    }

    @Override
    String stats(String name) {
        return client.getStats().values().iterator().next().get(name);
    }
}
