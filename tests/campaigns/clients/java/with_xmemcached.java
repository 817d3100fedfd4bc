// xmemcached; the text protocol is its default.

import java.util.List;
import java.util.Map;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.utils.AddrUtil;

final class with_xmemcached extends Client {
    private final MemcachedClient client;

    private with_xmemcached(String server) throws Exception {
        var builder = new XMemcachedClientBuilder(AddrUtil.getAddresses(server));
        builder.setOpTimeout(20_000);
        client = builder.build();
    }

    public static void main(String[] arguments) throws Exception {
        Scenario.run(new with_xmemcached(arguments[0] + ":" + arguments[1]), arguments[2]);
    }

    @Override
    boolean set(String key, Object value, int seconds) throws Exception {
        return client.set(key, seconds, value);
    }

    @Override
    Object get(String key) throws Exception {
        return client.get(key);
    }

    @Override
    boolean add(String key, Object value) throws Exception {
        return client.add(key, 0, value);
    }

    @Override
    boolean replace(String key, Object value) throws Exception {
        return client.replace(key, 0, value);
    }

    @Override
    boolean append(String key, String value) throws Exception {
        return client.append(key, value);
    }

    @Override
    boolean prepend(String key, String value) throws Exception {
        return client.prepend(key, value);
    }

    @Override
    Versioned gets(String key) throws Exception {
        GetsResponse<Object> found = client.gets(key);
        return new Versioned(found.getValue(), found.getCas());
    }

    @Override
    boolean cas(String key, Object value, long token) throws Exception {
        return client.cas(key, 0, value, token);
    }

    @Override
    boolean delete(String key) throws Exception {
        return client.delete(key);
    }

    // Where there is no counter it adds one with this value, and gives that.
    private static final long BEGIN = 1L << 62;

    private static long counted(long answer) {
        return answer == BEGIN ? -1 : answer;
    }

    @Override
    long incr(String key, int delta) throws Exception {
        return counted(client.incr(key, delta, BEGIN));
    }

    @Override
    long decr(String key, int delta) throws Exception {
        return counted(client.decr(key, delta, BEGIN));
    }

    @Override
    boolean touch(String key, int seconds) throws Exception {
        return client.touch(key, seconds);
    }

    @Override
    Map<String, Object> getMany(List<String> keys) throws Exception {
        return client.get(keys);
    }

    @Override
    void setNoreply(String key, Object value) throws Exception {
        client.setWithNoReply(key, 0, value);
    }

    @Override
    void flushAll() throws Exception {
        client.flushAll();
    }

    @Override
    String version() throws Exception {
        return client.getVersions().values().iterator().next();
    }

    @Override
    String stats(String name) throws Exception {
        return client.getStats().values().iterator().next().get(name);
    }
}
