// gomemcache.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var client *memcache.Client

func setFor(key, value string, seconds int32) error {
	return client.Set(&memcache.Item{Key: key, Value: []byte(value), Expiration: seconds})
}

func set(key, value string) {
	err := setFor(key, value, 0)
	expect(err == nil, "set "+key, err)
}

func expectValue(key, wanted string) {
	item, err := client.Get(key)
	expect(err == nil, "get "+key, err)
	expect(string(item.Value) == wanted, "the value of "+key, item.Value)
}

func expectAbsent(key string) {
	_, err := client.Get(key)
	expect(errors.Is(err, memcache.ErrCacheMiss), "no "+key, err)
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

func stepSetGet() {
	expectAbsent("absent")
	for _, value := range []string{"first", "second one"} {
		set("set_get", value)
		expectValue("set_get", value)
	}
}

func stepTypes() {
	err := client.Set(&memcache.Item{Key: "typed", Value: []byte("x"), Flags: 4000000000})
	expect(err == nil, "set", err)
	got, err := client.Get("typed")
	expect(err == nil && got.Flags == 4000000000, "flags", got, err)
}

func stepBinary() {
	value := "\r\nEND\r\n\x00"
	for i := 0; i < 512; i++ {
		value += string([]byte{byte(i)})
	}
	set("binary", value)
	expectValue("binary", value)
}

func stepLarge() {
	value := make([]byte, 900000)
	rand.New(rand.NewSource(1)).Read(value)
	set("large", string(value))
	got, err := client.Get("large")
	expect(err == nil && bytes.Equal(got.Value, value), "the same bytes", err)
}

func stepLongKey() {
	set(strings.Repeat("k", 250), "250")
	set(strings.Repeat("k", 249), "249")
	expectValue(strings.Repeat("k", 250), "250")
}

func stepAdd() {
	err := client.Add(item("add", "first"))
	expect(err == nil, "add to nothing", err)
	err = client.Add(item("add", "second"))
	expect(errors.Is(err, memcache.ErrNotStored), "add to something", err)
	expectValue("add", "first")
}

func stepReplace() {
	err := client.Replace(item("replace", "x"))
	expect(errors.Is(err, memcache.ErrNotStored), "replace nothing", err)
	set("replace", "first")
	err = client.Replace(item("replace", "second"))
	expect(err == nil, "replace something", err)
	expectValue("replace", "second")
}

func stepAppendPrepend() {
	err := client.Append(item("joined", "x"))
	expect(errors.Is(err, memcache.ErrNotStored), "append to nothing", err)
	set("joined", "middle")
	err = client.Append(item("joined", " end"))
	expect(err == nil, "append", err)
	err = client.Prepend(item("joined", "begin "))
	expect(err == nil, "prepend", err)
	expectValue("joined", "begin middle end")
}

func stepCas() {
	set("cas", "first")
	one, err := client.Get("cas")
	expect(err == nil, "get", err)
	other, err := client.Get("cas")
	expect(err == nil, "get", err)
	one.Value = []byte("second")
	err = client.CompareAndSwap(one)
	expect(err == nil, "cas with the newest token", err)
	other.Value = []byte("third")
	err = client.CompareAndSwap(other)
	expect(errors.Is(err, memcache.ErrCASConflict), "cas with an old token", err)
	expectValue("cas", "second")
}

func stepDelete() {
	err := client.Delete("delete")
	expect(errors.Is(err, memcache.ErrCacheMiss), "delete nothing", err)
	set("delete", "x")
	err = client.Delete("delete")
	expect(err == nil, "delete something", err)
	expectAbsent("delete")
}

func stepCounters() {
	_, err := client.Increment("counter", 1)
	expect(errors.Is(err, memcache.ErrCacheMiss), "incr of nothing", err)
	_, err = client.Decrement("counter", 1)
	expect(errors.Is(err, memcache.ErrCacheMiss), "decr of nothing", err)
	set("counter", "10")
	now, err := client.Increment("counter", 5)
	expect(err == nil && now == 15, "incr", now, err)
	now, err = client.Decrement("counter", 6)
	expect(err == nil && now == 9, "decr", now, err)
	now, err = client.Decrement("counter", 100)
	expect(err == nil && now == 0, "decr below 0", now, err)
	set("counter", "18446744073709551614")
	now, err = client.Increment("counter", 1)
	expect(err == nil && now == math.MaxUint64, "incr to the largest number", now, err)
}

func stepTouch() {
	err := client.Touch("touched", 1)
	expect(errors.Is(err, memcache.ErrCacheMiss), "touch nothing", err)
	set("touched", "x")
	err = client.Touch("touched", 1)
	expect(err == nil, "touch something", err)
}

func stepGat() {
	_, err := client.GetAndTouch("got_and_touched", 1)
	expect(errors.Is(err, memcache.ErrCacheMiss), "gat of nothing", err)
	set("got_and_touched", "x")
	got, err := client.GetAndTouch("got_and_touched", 1)
	expect(err == nil && string(got.Value) == "x", "gat", got, err)
}

func stepGetMany() {
	keys := []string{"absent"}
	for i := 0; i < 100; i++ {
		keys = append(keys, fmt.Sprintf("many%d", i))
		set(keys[i+1], fmt.Sprintf("value %d", i))
	}
	got, err := client.GetMulti(keys)
	expect(err == nil && len(got) == 100, "100 keys", len(got), err)
	for i := 0; i < 100; i++ {
		value := string(got[keys[i+1]].Value)
		expect(value == fmt.Sprintf("value %d", i), "the value of "+keys[i+1], value)
	}
}

func stepExpiry() {
	expect(setFor("short", "x", 2) == nil, "set")
	expect(setFor("long", "x", 100) == nil, "set")
	expectValue("short", "x")
	time.Sleep(2200 * time.Millisecond)
	for _, key := range []string{"short", "touched", "got_and_touched"} {
		expectAbsent(key)
	}
	expectValue("long", "x")
}

func stepFlushAll() {
	set("flushed", "x")
	err := client.FlushAll()
	expect(err == nil, "flush_all", err)
	expectAbsent("flushed")
}

func stepEmpty() {
	set("empty", "")
	expectValue("empty", "")
}

func main() {
	client = memcache.New(os.Args[1] + ":" + os.Args[2])
	client.Timeout = 20 * time.Second
	if os.Args[3] == "scenario" {
		fmt.Println("lacks version: Ping asks for it, and tells nobody")
		fmt.Println("lacks stats: no such operation")
		fmt.Println("lacks noreply: no such operation")
	}
	run(map[string][]namedStep{
		"write": {{"write", func() { set("survivor", "survivor") }}},
		"read":  {{"read", func() { expectValue("survivor", "survivor") }}},
		"scenario": {
			{"set_get", stepSetGet}, {"types", stepTypes}, {"empty", stepEmpty},
			{"binary", stepBinary}, {"large", stepLarge}, {"long_key", stepLongKey},
			{"add", stepAdd}, {"replace", stepReplace}, {"append_prepend", stepAppendPrepend},
			{"cas", stepCas}, {"delete", stepDelete}, {"counters", stepCounters},
			{"touch", stepTouch}, {"gat", stepGat}, {"get_many", stepGetMany},
			{"expiry", stepExpiry}, {"flush_all", stepFlushAll},
		},
	})
}
