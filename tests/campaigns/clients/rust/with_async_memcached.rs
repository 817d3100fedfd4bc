// async-memcached, driven one operation at a time.

mod scenario;

use async_memcached::{AsciiProtocol, Error};
use scenario::{same, Answer, Client};
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::Runtime;

struct AsyncMemcached {
    runtime: Runtime,
    client: async_memcached::Client,
}

/// Waits for an answer, not without end.
fn wait<T>(runtime: &Runtime, asked: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    runtime.block_on(async {
        match tokio::time::timeout(Duration::from_secs(20), asked).await {
            Ok(answer) => answer.map_err(|why| format!("{why:?}")),
            Err(late) => Err(late.to_string()),
        }
    })
}

/// What says no, the crate reports as an error.
fn unless_refused<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Err(why) if why.contains("NotStored") || why.contains("NotFound") => Ok(None),
        other => other.map(Some),
    }
}

impl Client for AsyncMemcached {
    fn set(&mut self, key: &str, value: &[u8], seconds: u32) -> Answer<bool> {
        let asked = self.client.set(key, value, Some(seconds.into()), None);
        unless_refused(wait(&self.runtime, asked)).map(|done| done.is_some())
    }
    fn get(&mut self, key: &str) -> Answer<Option<Vec<u8>>> {
        let found = wait(&self.runtime, self.client.get(key))?;
        Ok(found.map(|value| value.data.unwrap_or_default()))
    }
    fn add(&mut self, key: &str, value: &[u8]) -> Answer<bool> {
        let asked = self.client.add(key, value, None, None);
        unless_refused(wait(&self.runtime, asked)).map(|done| done.is_some())
    }
    fn delete(&mut self, key: &str) -> Answer<bool> {
        let asked = self.client.delete(key);
        unless_refused(wait(&self.runtime, asked)).map(|done| done.is_some())
    }
    fn incr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>> {
        unless_refused(wait(&self.runtime, self.client.increment(key, delta)))
    }
    fn decr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>> {
        unless_refused(wait(&self.runtime, self.client.decrement(key, delta)))
    }
    fn get_many(&mut self, keys: &[&str]) -> Answer<HashMap<String, Vec<u8>>> {
        let found = wait(&self.runtime, self.client.get_multi(keys))?;
        let pair = |value: async_memcached::Value| {
            (String::from_utf8_lossy(&value.key).to_string(), value.data.unwrap_or_default())
        };
        Ok(found.into_iter().map(pair).collect())
    }
    fn types(&mut self) -> Answer<()> {
        let flags = 4_000_000_000;
        wait(&self.runtime, self.client.set("typed", "x", None, Some(flags)))?;
        let found = wait(&self.runtime, self.client.get("typed"))?;
        same(found.and_then(|value| value.flags), Some(flags), "flags")
    }
    fn flush_all(&mut self) -> Answer<()> {
        wait(&self.runtime, self.client.flush_all())
    }
    fn version(&mut self) -> Answer<String> {
        wait(&self.runtime, self.client.version())
    }
    fn stats(&mut self, name: &str) -> Answer<String> {
        let all = wait(&self.runtime, self.client.stats())?;
        all.get(name).cloned().ok_or("no such statistic".to_string())
    }
}

fn main() {
    let given: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = format!("tcp://{}:{}", given[1], given[2]);
    match wait(&runtime, async_memcached::Client::new(server)) {
        Ok(client) => scenario::run(&mut AsyncMemcached { runtime, client }, &given[3]),
        Err(why) => {
            println!("FAILED connect: {why}");
            std::process::exit(1);
        }
    }
}
