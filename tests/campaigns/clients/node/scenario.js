// The common scenario of the Node libraries. The steps are those of python/scenario.py. An adapter
// has the operations as asynchronous methods; those that it is without, it lacks. Values are
// Buffers.
'use strict';
const assert = require('node:assert');

const same = assert.deepStrictEqual;
const bytes = (text) => Buffer.from(text, 'latin1');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function reads(c, key, text) {
    const value = await c.get(key);
    same(value, bytes(text), `the value of ${key}`);
}

async function isAbsent(c, key) {
    same(await c.get(key), undefined, `${key} must be absent`);
}

// The same in every run. Printable: `memcached` sends other bytes as two, and so beyond the limit.
function randomText(size) {
    const value = Buffer.alloc(size);
    let state = 1;
    for (let i = 0; i < size; ++i) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        value[i] = 32 + (state >>> 24) % 95;
    }
    return value;
}

const steps = {
    async version(c) {
        const text = await c.version();
        assert(text.startsWith('1.6.'), `version says ${text}`);
    },
    async stats(c) {
        same(String(await c.stats('threads')), '2');
    },
    async set_get(c) {
        await isAbsent(c, 'absent');
        for (const value of ['first', 'second one']) {
            same(await c.set('set_get', bytes(value)), true);
            await reads(c, 'set_get', value);
        }
    },
    async types(c) {
        for (const value of [17, 'text with \u00fc', { a: [1, null] }, bytes('bytes')]) {
            same(await c.set('typed', value), true);
            same(await c.get('typed'), value);
        }
    },
    async empty(c) {
        same(await c.set('empty', bytes('')), true);
        await reads(c, 'empty', '');
    },
    async binary(c) {
        const all = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256));
        const value = Buffer.concat([bytes('\r\nEND\r\n\0'), all]);
        same(await c.set('binary', value), true);
        same(await c.get('binary'), value);
    },
    async large(c) {
        const value = randomText(900000);
        same(await c.set('large', value), true);
        assert(value.equals(await c.get('large')), 'other bytes came back');
    },
    async long_key(c) {
        same(await c.set('k'.repeat(250), bytes('250')), true);
        same(await c.set('k'.repeat(249), bytes('249')), true);
        await reads(c, 'k'.repeat(250), '250');
    },
    async add(c) {
        same(await c.add('add', bytes('first')), true);
        same(await c.add('add', bytes('second')), false);
        await reads(c, 'add', 'first');
    },
    async replace(c) {
        same(await c.replace('replace', bytes('x')), false);
        await c.set('replace', bytes('first'));
        same(await c.replace('replace', bytes('second')), true);
        await reads(c, 'replace', 'second');
    },
    async append_prepend(c) {
        same(await c.append('joined', bytes('x')), false);
        await c.set('joined', bytes('middle'));
        same(await c.append('joined', bytes(' end')), true);
        same(await c.prepend('joined', bytes('begin ')), true);
        await reads(c, 'joined', 'begin middle end');
    },
    async cas(c) {
        await c.set('cas', bytes('first'));
        const token = await c.gets('cas');
        same(await c.cas('cas', bytes('second'), token), true);
        same(await c.cas('cas', bytes('third'), token), false);
        await reads(c, 'cas', 'second');
    },
    async delete(c) {
        same(await c.delete('delete'), false);
        await c.set('delete', bytes('x'));
        same(await c.delete('delete'), true);
        await isAbsent(c, 'delete');
    },
    async counters(c) {
        same(await c.incr('counter', 1), undefined);
        same(await c.decr('counter', 1), undefined);
        await c.set('counter', '10');
        same(await c.incr('counter', 5), 15);
        same(await c.decr('counter', 6), 9);
        same(await c.decr('counter', 100), 0);
    },
    async touch(c) {
        same(await c.touch('touched', 1), false);
        await c.set('touched', bytes('x'));
        same(await c.touch('touched', 1), true);
    },
    async gat(c) {
        await c.set('got_and_touched', bytes('x'));
        same(await c.gat('got_and_touched', 1), bytes('x'));
    },
    async get_many(c) {
        const wanted = {};
        for (let i = 0; i < 100; ++i) wanted[`many${i}`] = bytes(`value ${i}`);
        for (const key of Object.keys(wanted)) await c.set(key, wanted[key]);
        same(await c.getMany([...Object.keys(wanted), 'absent']), wanted);
    },
    async noreply(c) {
        for (let i = 0; i < 50; ++i) await c.setNoreply(`quiet${i % 5}`, bytes(`${i}`));
        for (let i = 45; i < 50; ++i) await reads(c, `quiet${i % 5}`, `${i}`);
    },
    async expiry(c) {
        await c.set('short', bytes('x'), 2);
        await c.set('long', bytes('x'), 100);
        await reads(c, 'short', 'x');
        await sleep(2200);
        for (const key of ['short', 'touched', 'got_and_touched']) await isAbsent(c, key);
        await reads(c, 'long', 'x');
    },
    async flush_all(c) {
        await c.set('flushed', bytes('x'));
        await c.flushAll();
        await isAbsent(c, 'flushed');
    },
};
const operation = {
    version: 'version', stats: 'stats', append_prepend: 'prepend', cas: 'gets', touch: 'touch',
    gat: 'gat', noreply: 'setNoreply', flush_all: 'flushAll',
};
const single = {
    write: async (c) => same(await c.set('survivor', bytes('survivor')), true),
    read: async (c) => reads(c, 'survivor', 'survivor'),
};

// Gives whether all went well.
exports.run = async function run(adapter, phase) {
    let passed = true;
    for (const [name, step] of Object.entries(phase === 'scenario' ? steps : single)) {
        if (phase !== 'scenario' && name !== phase) continue;
        if (operation[name] && !adapter[operation[name]]) {
            console.log(`lacks ${name}: no such operation`);
            continue;
        }
        try {
            await step(adapter);
            console.log(`ok ${name}`);
        } catch (why) {
            const how = String(why.message).slice(0, 200).split('\n').join(' ');
            console.log(`FAILED ${name}: ${how}`);
            passed = false;
        }
    }
    return passed;
};
