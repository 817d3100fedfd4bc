# Cache::Memcached.
use strict;
use warnings;
use Cache::Memcached;
use scenario;

my ($host, $port, $phase) = @ARGV;
my $none = 'no such operation';
scenario::run(Cache::Memcached->new({ servers => ["$host:$port"], select_timeout => 20 }), $phase,
    version => $none, cas => $none, touch => $none, gat => $none, noreply => $none);
