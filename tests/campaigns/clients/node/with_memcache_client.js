// memcache-client.
'use strict';
const { MemcacheClient } = require('memcache-client');
const { run } = require('./scenario');

const [host, port, phase] = process.argv.slice(2);
// One connection: noreply promises an order on one connection only.
const client = new MemcacheClient({
    server: { server: `${host}:${port}`, maxConnections: 1 }, cmdTimeout: 20000, lifetime: 0,
});

// Whether it was done: what says no, it reports as an error.
const done = async (asked) => {
    try {
        await asked;
        return true;
    } catch (why) {
        if (/NOT_STORED|NOT_FOUND|EXISTS/.test(why.message)) return false;
        throw why;
    }
};
const counted = async (asked) => {
    try {
        return Number(await asked);
    } catch (why) {
        if (/NOT_FOUND/.test(why.message)) return undefined;
        throw why;
    }
};

const adapter = {
    version: async () => (await client.version()).at(-1),
    stats: async (name) => (await client.cmd('stats')).STAT.find((line) => line[0] === name)[1],
    set: (key, value, lifetime = 0) => done(client.set(key, value, { lifetime })),
    get: async (key) => (await client.get(key))?.value,
    add: (key, value) => done(client.add(key, value)),
    replace: (key, value) => done(client.replace(key, value)),
    append: (key, value) => done(client.append(key, value)),
    prepend: (key, value) => done(client.prepend(key, value)),
    gets: async (key) => (await client.gets(key)).casUniq,
    cas: (key, value, casUniq) => done(client.cas(key, value, { casUniq })),
    delete: (key) => done(client.delete(key)),
    incr: (key, delta) => counted(client.incr(key, delta)),
    decr: (key, delta) => counted(client.decr(key, delta)),
    touch: (key, seconds) => done(client.touch(key, seconds)),
    getMany: async (keys) => Object.fromEntries(
        Object.entries(await client.get(keys)).map(([key, found]) => [key, found.value])),
    setNoreply: (key, value) => client.set(key, value, { noreply: true }),
    flushAll: () => client.cmd('flush_all'),
};

run(adapter, phase).then((passed) => process.exit(passed ? 0 : 1));
