// memcached, the oldest of Node's.
'use strict';
const Memcached = require('memcached');
const { run } = require('./scenario');

const [host, port, phase] = process.argv.slice(2);
const client = new Memcached(`${host}:${port}`, { timeout: 20000, retries: 0 });

// A promise of what a method calls back with. NOT_STORED it reports as an error.
const ask = (method, ...rest) => new Promise((done, fail) => {
    client[method](...rest, (why, answer) => {
        if (why && !/not stored/i.test(why.message)) fail(why);
        else done(why ? false : answer);
    });
});
const absent = (answer) => (answer === false ? undefined : answer);

const adapter = {
    version: async () => (await ask('version'))[0].version,
    stats: async (name) => (await ask('stats'))[0][name],
    set: (key, value, seconds = 0) => ask('set', key, value, seconds),
    get: (key) => ask('get', key),
    add: (key, value) => ask('add', key, value, 0),
    replace: (key, value) => ask('replace', key, value, 0),
    append: (key, value) => ask('append', key, value),
    prepend: (key, value) => ask('prepend', key, value),
    gets: async (key) => (await ask('gets', key)).cas,
    cas: (key, value, token) => ask('cas', key, value, token, 0),
    delete: (key) => ask('del', key),
    incr: async (key, delta) => absent(await ask('incr', key, delta)),
    decr: async (key, delta) => absent(await ask('decr', key, delta)),
    touch: (key, seconds) => ask('touch', key, seconds),
    getMany: (keys) => ask('getMulti', keys),
    flushAll: () => ask('flush'),
};

run(adapter, phase).then((passed) => process.exit(passed ? 0 : 1));
