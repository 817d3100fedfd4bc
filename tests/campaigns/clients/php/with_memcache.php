<?php
// php-memcache: PHP's older one, which speaks the protocol itself.
require __DIR__ . '/scenario.php';

class Adapter
{
    private Memcache $client;

    public function __construct(string $host, int $port)
    {
        $this->client = new Memcache();
        $this->client->addServer($host, $port, false, 1, 20);
    }

    // What has the same name and arguments there.
    public function __call(string $name, array $arguments)
    {
        return $this->client->$name(...$arguments);
    }

    public function version(): string
    {
        return $this->client->getVersion();
    }

    public function stats(string $name)
    {
        return $this->client->getStats()[$name];
    }

    public function set(string $key, $value, int $seconds = 0): bool
    {
        return $this->client->set($key, $value, 0, $seconds);
    }

    public function gets(string $key)
    {
        $flags = 0;
        $token = 0;
        $this->client->get($key, $flags, $token);
        return $token;
    }

    public function cas($token, string $key, string $value): bool
    {
        return $this->client->cas($key, $value, 0, 0, $token);
    }

    public function get_many(array $keys): array
    {
        return $this->client->get($keys);
    }
}

run(new Adapter($argv[1], (int) $argv[2]), $argv[3], ['touch', 'gat', 'noreply']);
