// The common scenario of the Rust libraries. The steps are those of python/scenario.py.

use std::collections::HashMap;
use std::fmt::Debug;

/// What an operation gives, or how it failed; LACKS: the library has no such operation.
pub type Answer<T> = Result<T, String>;
const LACKS: &str = "no such operation";

fn lacks<T>() -> Answer<T> {
    Err(LACKS.to_string())
}

pub trait Client {
    fn set(&mut self, key: &str, value: &[u8], seconds: u32) -> Answer<bool>;
    fn get(&mut self, key: &str) -> Answer<Option<Vec<u8>>>;
    fn add(&mut self, key: &str, value: &[u8]) -> Answer<bool>;
    fn delete(&mut self, key: &str) -> Answer<bool>;
    fn incr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>>;
    fn decr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>>;
    fn get_many(&mut self, keys: &[&str]) -> Answer<HashMap<String, Vec<u8>>>;
    /// Flags, or types.
    fn types(&mut self) -> Answer<()>;
    fn flush_all(&mut self) -> Answer<()>;
    fn version(&mut self) -> Answer<String>;
    fn stats(&mut self, _name: &str) -> Answer<String> {
        lacks()
    }
    fn replace(&mut self, _key: &str, _value: &[u8]) -> Answer<bool> {
        lacks()
    }
    fn append(&mut self, _key: &str, _value: &[u8]) -> Answer<bool> {
        lacks()
    }
    fn prepend(&mut self, _key: &str, _value: &[u8]) -> Answer<bool> {
        lacks()
    }
    fn gets(&mut self, _key: &str) -> Answer<u64> {
        lacks()
    }
    fn cas(&mut self, _key: &str, _value: &[u8], _token: u64) -> Answer<bool> {
        lacks()
    }
    fn touch(&mut self, _key: &str, _seconds: u32) -> Answer<bool> {
        lacks()
    }
}

pub fn same<T: PartialEq + Debug>(got: T, wanted: T, what: &str) -> Answer<()> {
    if got == wanted {
        return Ok(());
    }
    let tell = |value: &T| format!("{value:?}").chars().take(60).collect::<String>();
    Err(format!("{what}: {} instead of {}", tell(&got), tell(&wanted)))
}

type Step = fn(&mut dyn Client) -> Answer<()>;

fn reads(c: &mut dyn Client, key: &str, value: &[u8]) -> Answer<()> {
    same(c.get(key)?, Some(value.to_vec()), key)
}

fn set(c: &mut dyn Client, key: &str, value: &[u8]) -> Answer<()> {
    same(c.set(key, value, 0)?, true, "set")
}

fn set_and_read(c: &mut dyn Client, key: &str, value: &[u8]) -> Answer<()> {
    set(c, key, value)?;
    reads(c, key, value)
}

fn set_get(c: &mut dyn Client) -> Answer<()> {
    same(c.get("absent")?, None, "an absent key")?;
    set_and_read(c, "set_get", b"first")?;
    set_and_read(c, "set_get", b"second one")
}

fn binary(c: &mut dyn Client) -> Answer<()> {
    let mut value = b"\r\nEND\r\n\0".to_vec();
    value.extend((0..512).map(|i| i as u8));
    set_and_read(c, "binary", &value)
}

fn large(c: &mut dyn Client) -> Answer<()> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 24) as u8
    };
    let value: Vec<u8> = (0..900_000).map(|_| next()).collect();
    set_and_read(c, "large", &value)
}

fn long_key(c: &mut dyn Client) -> Answer<()> {
    set(c, &"k".repeat(250), b"250")?;
    set(c, &"k".repeat(249), b"249")?;
    reads(c, &"k".repeat(250), b"250")
}

fn add(c: &mut dyn Client) -> Answer<()> {
    same(c.add("add", b"first")?, true, "add to nothing")?;
    same(c.add("add", b"second")?, false, "add to something")?;
    reads(c, "add", b"first")
}

fn replace(c: &mut dyn Client) -> Answer<()> {
    same(c.replace("replace", b"x")?, false, "replace nothing")?;
    same(c.get("replace")?, None, "a replace of nothing stores nothing")?;
    set(c, "replace", b"first")?;
    same(c.replace("replace", b"second")?, true, "replace something")?;
    reads(c, "replace", b"second")
}

fn append_prepend(c: &mut dyn Client) -> Answer<()> {
    same(c.append("joined", b"x")?, false, "append to nothing")?;
    same(c.get("joined")?, None, "an append to nothing stores nothing")?;
    set(c, "joined", b"middle")?;
    same(c.append("joined", b" end")?, true, "append")?;
    same(c.prepend("joined", b"begin ")?, true, "prepend")?;
    reads(c, "joined", b"begin middle end")
}

fn cas(c: &mut dyn Client) -> Answer<()> {
    set(c, "cas", b"first")?;
    let token = c.gets("cas")?;
    same(c.cas("cas", b"second", token)?, true, "cas with the newest token")?;
    same(c.cas("cas", b"third", token)?, false, "cas with an old token")?;
    reads(c, "cas", b"second")
}

fn delete(c: &mut dyn Client) -> Answer<()> {
    same(c.delete("delete")?, false, "delete nothing")?;
    set(c, "delete", b"x")?;
    same(c.delete("delete")?, true, "delete something")?;
    same(c.get("delete")?, None, "get")
}

fn counters(c: &mut dyn Client) -> Answer<()> {
    same(c.incr("counter", 1)?, None, "incr of nothing")?;
    same(c.decr("counter", 1)?, None, "decr of nothing")?;
    set(c, "counter", b"10")?;
    same(c.incr("counter", 5)?, Some(15), "incr")?;
    same(c.decr("counter", 6)?, Some(9), "decr")?;
    same(c.decr("counter", 100)?, Some(0), "decr below 0")?;
    set(c, "counter", b"18446744073709551614")?;
    same(c.incr("counter", 1)?, Some(u64::MAX), "incr to the largest number")
}

fn touch(c: &mut dyn Client) -> Answer<()> {
    same(c.touch("touched", 1)?, false, "touch nothing")?;
    set(c, "touched", b"x")?;
    same(c.touch("touched", 1)?, true, "touch something")
}

fn get_many(c: &mut dyn Client) -> Answer<()> {
    let mut wanted = HashMap::new();
    for i in 0..100 {
        wanted.insert(format!("many{i}"), format!("value {i}").into_bytes());
    }
    for (key, value) in &wanted {
        set(c, key, value)?;
    }
    let mut keys: Vec<&str> = wanted.keys().map(String::as_str).collect();
    keys.push("absent");
    same(c.get_many(&keys)?, wanted.clone(), "all of them")
}

fn expiry(c: &mut dyn Client) -> Answer<()> {
    c.set("short", b"x", 2)?;
    c.set("long", b"x", 100)?;
    reads(c, "short", b"x")?;
    std::thread::sleep(std::time::Duration::from_millis(2200));
    same(c.get("short")?, None, "short")?;
    same(c.get("touched")?, None, "touched")?;
    reads(c, "long", b"x")
}

fn flush_all(c: &mut dyn Client) -> Answer<()> {
    set(c, "flushed", b"x")?;
    c.flush_all()?;
    same(c.get("flushed")?, None, "get")
}

const SCENARIO: &[(&str, Step)] = &[
    ("version", |c| same(c.version()?.contains("1.6."), true, "version")),
    ("stats", |c| same(c.stats("threads")?, "2".to_string(), "threads")),
    ("set_get", set_get),
    ("types", |c| c.types()),
    ("empty", |c| set_and_read(c, "empty", b"")),
    ("binary", binary),
    ("large", large),
    ("long_key", long_key),
    ("add", add),
    ("replace", replace),
    ("append_prepend", append_prepend),
    ("cas", cas),
    ("delete", delete),
    ("counters", counters),
    ("touch", touch),
    ("gat", |_| lacks()),
    ("get_many", get_many),
    ("noreply", |_| lacks()),
    ("expiry", expiry),
    ("flush_all", flush_all),
];

/// Runs a phase, all of its steps even if one fails, and ends the program.
pub fn run(client: &mut dyn Client, phase: &str) -> ! {
    let steps: Vec<(&str, Step)> = match phase {
        "write" => vec![("write", |c| set(c, "survivor", b"survivor"))],
        "read" => vec![("read", |c| reads(c, "survivor", b"survivor"))],
        _ => SCENARIO.to_vec(),
    };
    let mut status = 0;
    for (name, step) in steps {
        match step(client) {
            Ok(()) => println!("ok {name}"),
            Err(why) if why == LACKS => println!("lacks {name}: {why}"),
            Err(why) => {
                println!("FAILED {name}: {why}");
                status = 1;
            }
        }
    }
    std::process::exit(status)
}
