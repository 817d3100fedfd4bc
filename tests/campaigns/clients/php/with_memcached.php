<?php
// php-memcached: libmemcached behind PHP's interface.
require __DIR__ . '/scenario.php';

class Adapter
{
    private Memcached $client;

    public function __construct(string $host, int $port)
    {
        $this->client = new Memcached();
        $this->client->addServer($host, $port);
    }

    // What has the same name and arguments there.
    public function __call(string $name, array $arguments)
    {
        return $this->client->$name(...$arguments);
    }

    public function version(): string
    {
        return current($this->client->getVersion());
    }

    public function stats(string $name)
    {
        return current($this->client->getStats())[$name];
    }

    // A compressed value cannot be appended to: the library refuses.
    public function append(string $key, string $value): bool
    {
        $this->client->setOption(Memcached::OPT_COMPRESSION, false);
        return $this->client->append($key, $value);
    }

    public function gets(string $key)
    {
        return $this->client->get($key, null, Memcached::GET_EXTENDED)['cas'];
    }

    public function get_many(array $keys): array
    {
        return $this->client->getMulti($keys);
    }

    public function set_noreply(string $key, string $value): void
    {
        $this->client->setOption(Memcached::OPT_NOREPLY, true);
        $this->client->set($key, $value);
        $this->client->setOption(Memcached::OPT_NOREPLY, false);
    }
}

run(new Adapter($argv[1], (int) $argv[2]), $argv[3], ['gat']);
