# Cache::Memcached::Fast.
use strict;
use warnings;
use Cache::Memcached::Fast;
use scenario;

my ($host, $port, $phase) = @ARGV;
scenario::run(
    Cache::Memcached::Fast->new({ servers => ["$host:$port"], io_timeout => 20 }), $phase,
    stats => 'no such operation');
