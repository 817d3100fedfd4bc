# The common scenario of the Perl libraries. The steps are those of python/scenario.py.
package scenario;
use strict;
use warnings;

our $client;

# same GOT, WANTED, WHAT: ends the running step where they differ.
# The prototypes here ask for scalars: in a list, a library's "no" may be no element at all.
sub same($$$) {
    my ($got, $wanted, $what) = @_;
    my $equal = defined $got && defined $wanted ? $got eq $wanted : defined $got == defined $wanted;
    return if $equal;
    $got = 'undef' unless defined $got;
    $wanted = 'undef' unless defined $wanted;
    die "$what: '" . substr($got, 0, 60) . "' instead of '" . substr($wanted, 0, 60) . "'\n";
}

sub holds($$) { my ($truth, $what) = @_; die "not so: $what\n" unless $truth }
sub refused($$) { my ($answer, $what) = @_; die "not refused: $what\n" if $answer }
sub reads($$) { my ($key, $value) = @_; same($client->get($key), $value, "the value of $key") }

my %steps = (
    version => sub {
        my $said = $client->server_versions;
        my ($version) = values %$said;
        holds($version =~ /^1\.6\./, "version says $version");
    },
    stats => sub {
        my $said = $client->stats('misc');
        my ($of_server) = values %{ $said->{hosts} };
        same($of_server->{misc}{threads}, 2, "stats' threads");
    },
    set_get => sub {
        same($client->get('absent'), undef, 'an absent key');
        for my $value ('first', 'second one') {
            holds($client->set('set_get', $value), 'set');
            reads('set_get', $value);
        }
    },
    types => sub {
        holds($client->set('typed', { a => [1, 'two'] }), 'set');
        same($client->get('typed')->{a}[1], 'two', 'a structure');
    },
    empty => sub { holds($client->set('empty', ''), 'set'); reads('empty', '') },
    binary => sub {
        my $value = "\r\nEND\r\n\0" . join('', map { chr($_ % 256) } 0 .. 511);
        holds($client->set('binary', $value), 'set');
        reads('binary', $value);
    },
    large => sub {
        my $state = 1;
        my $next = sub { ($state = ($state * 1664525 + 1013904223) & 0xffffffff) >> 24 };
        my $value = pack 'C*', map { $next->() } 1 .. 900_000;
        holds($client->set('large', $value), 'set');
        holds($client->get('large') eq $value, 'the same bytes');
    },
    long_key => sub {
        holds($client->set('k' x 250, '250'), 'set');
        holds($client->set('k' x 249, '249'), 'set');
        reads('k' x 250, '250');
    },
    add => sub {
        holds($client->add('add', 'first'), 'add to nothing');
        refused($client->add('add', 'second'), 'add to something');
        reads('add', 'first');
    },
    replace => sub {
        refused($client->replace('replace', 'x'), 'replace nothing');
        $client->set('replace', 'first');
        holds($client->replace('replace', 'second'), 'replace something');
        reads('replace', 'second');
    },
    append_prepend => sub {
        refused($client->append('joined', 'x'), 'append to nothing');
        $client->set('joined', 'middle');
        holds($client->append('joined', ' end'), 'append');
        holds($client->prepend('joined', 'begin '), 'prepend');
        reads('joined', 'begin middle end');
    },
    cas => sub {
        $client->set('cas', 'first');
        my $found = $client->gets('cas');
        same($found->[1], 'first', 'gets');
        holds($client->cas('cas', $found->[0], 'second'), 'cas with the newest token');
        refused($client->cas('cas', $found->[0], 'third'), 'cas with an old token');
        reads('cas', 'second');
    },
    delete => sub {
        refused($client->delete('delete'), 'delete nothing');
        $client->set('delete', 'x');
        holds($client->delete('delete'), 'delete something');
        same($client->get('delete'), undef, 'get');
    },
    counters => sub {
        refused($client->incr('counter', 1), 'incr of nothing');
        refused($client->decr('counter', 1), 'decr of nothing');
        $client->set('counter', '10');
        same($client->incr('counter', 5), 15, 'incr');
        same($client->decr('counter', 6), 9, 'decr');
        same(0 + $client->decr('counter', 100), 0, 'decr below 0');
    },
    touch => sub {
        refused($client->touch('touched', 1), 'touch nothing');
        $client->set('touched', 'x');
        holds($client->touch('touched', 1), 'touch something');
    },
    gat => sub {
        same($client->gat(1, 'got_and_touched'), undef, 'gat of nothing');
        $client->set('got_and_touched', 'x');
        same($client->gat(1, 'got_and_touched'), 'x', 'gat');
    },
    get_many => sub {
        $client->set("many$_", "value $_") for 0 .. 99;
        my $found = $client->get_multi(map({ "many$_" } 0 .. 99), 'absent');
        same(scalar keys %$found, 100, 'how many');
        same($found->{"many$_"}, "value $_", "many$_") for 0 .. 99;
    },
    noreply => sub {
        # In void context a set is sent with noreply.
        for my $i (0 .. 49) { $client->set('quiet' . $i % 5, $i) }
        reads('quiet' . $_ % 5, $_) for 45 .. 49;
    },
    expiry => sub {
        $client->set('short', 'x', 2);
        $client->set('long', 'x', 100);
        reads('short', 'x');
        select undef, undef, undef, 2.2;
        same($client->get($_), undef, $_) for 'short', 'touched', 'got_and_touched';
        reads('long', 'x');
    },
    flush_all => sub {
        $client->set('flushed', 'x');
        my $said = $client->flush_all;
        holds($said, "flush_all");
        same($client->get('flushed'), undef, 'get');
    },
    write => sub { holds($client->set('survivor', 'survivor'), 'set') },
    read => sub { reads('survivor', 'survivor') },
);

# run CLIENT, PHASE, STEP THAT THE LIBRARY LACKS => WHY...
sub run {
    ($client, my $phase, my %lacks) = @_;
    # Expiry after touch and gat: it looks whether they took effect.
    my @order = sort { ($a eq 'expiry') <=> ($b eq 'expiry') or $a cmp $b }
        grep { $_ ne 'write' && $_ ne 'read' && $_ ne 'flush_all' } keys %steps;
    @order = $phase eq 'scenario' ? (@order, 'flush_all') : ($phase);
    my $status = 0;
    local $| = 1;
    for my $name (@order) {
        if ($lacks{$name}) { print "lacks $name: $lacks{$name}\n"; next }
        if (eval { $steps{$name}->(); 1 }) { print "ok $name\n"; next }
        print "FAILED $name: $@";
        $status = 1;
    }
    exit $status;
}

1;
