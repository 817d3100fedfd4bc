<?php
// The common scenario of the PHP libraries. The steps are those of python/scenario.py. An adapter
// has the operations as methods, and is without those that it lacks.

function same($got, $wanted, string $what): void
{
    if ($got !== $wanted) {
        $tell = fn($value) => substr(var_export($value, true), 0, 60);
        throw new Exception("$what: {$tell($got)} instead of {$tell($wanted)}");
    }
}

function random_text(int $size): string
{
    $state = 1;
    $text = '';
    for ($i = 0; $i < $size; ++$i) {
        $state = ($state * 1664525 + 1013904223) & 0xffffffff;
        $text .= chr($state >> 24);
    }
    return $text;
}

$steps = [
    'version' => fn($c) => same(substr($c->version(), 0, 4), '1.6.', 'version'),
    'stats' => fn($c) => same((string) $c->stats('threads'), '2', 'threads'),
    'set_get' => function ($c) {
        same($c->get('absent'), false, 'an absent key');
        foreach (['first', 'second one'] as $value) {
            same($c->set('set_get', $value), true, 'set');
            same($c->get('set_get'), $value, 'get');
        }
    },
    'types' => function ($c) {
        foreach ([17, 2.5, true, 'text', ['a' => [1, null]]] as $value) {
            same($c->set('typed', $value), true, 'set');
            same($c->get('typed'), $value, 'get');
        }
    },
    'empty' => function ($c) {
        same($c->set('empty', ''), true, 'set');
        same($c->get('empty'), '', 'get');
    },
    'binary' => function ($c) {
        $value = "\r\nEND\r\n\0" . implode('', array_map('chr', range(0, 511)));
        same($c->set('binary', $value), true, 'set');
        same($c->get('binary'), $value, 'get');
    },
    'large' => function ($c) {
        $value = random_text(900000);
        same($c->set('large', $value), true, 'set');
        same($c->get('large') === $value, true, 'the same bytes');
    },
    'long_key' => function ($c) {
        same($c->set(str_repeat('k', 250), '250'), true, 'set');
        same($c->set(str_repeat('k', 249), '249'), true, 'set');
        same($c->get(str_repeat('k', 250)), '250', 'get');
    },
    'add' => function ($c) {
        same($c->add('add', 'first'), true, 'add to nothing');
        same($c->add('add', 'second'), false, 'add to something');
        same($c->get('add'), 'first', 'get');
    },
    'replace' => function ($c) {
        same($c->replace('replace', 'x'), false, 'replace nothing');
        $c->set('replace', 'first');
        same($c->replace('replace', 'second'), true, 'replace something');
        same($c->get('replace'), 'second', 'get');
    },
    'append_prepend' => function ($c) {
        same($c->append('joined', 'x'), false, 'append to nothing');
        $c->set('joined', 'middle');
        same($c->append('joined', ' end'), true, 'append');
        same($c->prepend('joined', 'begin '), true, 'prepend');
        same($c->get('joined'), 'begin middle end', 'get');
    },
    'cas' => function ($c) {
        $c->set('cas', 'first');
        $token = $c->gets('cas');
        same($c->cas($token, 'cas', 'second'), true, 'cas with the newest token');
        same($c->cas($token, 'cas', 'third'), false, 'cas with an old token');
        same($c->get('cas'), 'second', 'get');
    },
    'delete' => function ($c) {
        same($c->delete('delete'), false, 'delete nothing');
        $c->set('delete', 'x');
        same($c->delete('delete'), true, 'delete something');
        same($c->get('delete'), false, 'get');
    },
    'counters' => function ($c) {
        same($c->increment('counter', 1), false, 'incr of nothing');
        same($c->decrement('counter', 1), false, 'decr of nothing');
        $c->set('counter', 10);
        same($c->increment('counter', 5), 15, 'incr');
        same($c->decrement('counter', 6), 9, 'decr');
        same($c->decrement('counter', 100), 0, 'decr below 0');
    },
    'touch' => function ($c) {
        same($c->touch('touched', 1), false, 'touch nothing');
        $c->set('touched', 'x');
        same($c->touch('touched', 1), true, 'touch something');
    },
    'gat' => fn($c) => $c->gat(),
    'get_many' => function ($c) {
        $wanted = [];
        for ($i = 0; $i < 100; ++$i) {
            $wanted["many$i"] = "value $i";
            $c->set("many$i", "value $i");
        }
        $found = $c->get_many([...array_keys($wanted), 'absent']);
        ksort($found);
        ksort($wanted);
        same($found, $wanted, 'all of them');
    },
    'noreply' => function ($c) {
        for ($i = 0; $i < 50; ++$i) {
            $c->set_noreply('quiet' . $i % 5, "$i");
        }
        for ($i = 45; $i < 50; ++$i) {
            same($c->get('quiet' . $i % 5), "$i", 'a get behind');
        }
    },
    'expiry' => function ($c) {
        $c->set('short', 'x', 2);
        $c->set('long', 'x', 100);
        same($c->get('short'), 'x', 'before the time');
        usleep(2200000);
        same($c->get('short'), false, 'short');
        same($c->get('touched'), false, 'touched');
        same($c->get('long'), 'x', 'long');
    },
    'flush_all' => function ($c) {
        $c->set('flushed', 'x');
        same($c->flush(), true, 'flush_all');
        same($c->get('flushed'), false, 'get');
    },
    'write' => fn($c) => same($c->set('survivor', 'survivor'), true, 'set'),
    'read' => fn($c) => same($c->get('survivor'), 'survivor', 'get'),
];

// Runs the phase and ends the program. $lacks: names of steps.
function run(object $adapter, string $phase, array $lacks): never
{
    global $steps;
    $status = 0;
    $names = $phase === 'scenario' ? array_diff(array_keys($steps), ['write', 'read']) : [$phase];
    foreach ($names as $name) {
        if (in_array($name, $lacks)) {
            echo "lacks $name: no such operation\n";
            continue;
        }
        try {
            $steps[$name]($adapter);
            echo "ok $name\n";
        } catch (Throwable $why) {
            echo "FAILED $name: {$why->getMessage()}\n";
            $status = 1;
        }
    }
    exit($status);
}
