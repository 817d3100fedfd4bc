// The crate memcache, in its text mode. Its stats are left out: it stops reading at their first
// line, whatever the server, and takes the others for the answer to what it asks next.

mod scenario;

use memcache::{CommandError, MemcacheError};
use scenario::{same, Answer, Client};
use std::collections::HashMap;

struct Memcache(memcache::Client);

fn told<T>(answer: Result<T, MemcacheError>) -> Answer<T> {
    answer.map_err(|why| why.to_string())
}

fn is_not_found(why: &MemcacheError) -> bool {
    matches!(why, MemcacheError::CommandError(CommandError::KeyNotFound))
}

/// NOT_STORED is success for the crate. So whether a key is there says whether it is to be stored;
/// the scenario's gets say whether it was.
fn done(answer: Result<(), MemcacheError>, to_be_stored: bool) -> Answer<bool> {
    told(answer).map(|()| to_be_stored)
}

fn counted(answer: Result<u64, MemcacheError>) -> Answer<Option<u64>> {
    match answer {
        Err(why) if is_not_found(&why) => Ok(None),
        other => told(other).map(Some),
    }
}

impl Client for Memcache {
    fn set(&mut self, key: &str, value: &[u8], seconds: u32) -> Answer<bool> {
        told(self.0.set(key, value, seconds)).map(|()| true)
    }
    fn get(&mut self, key: &str) -> Answer<Option<Vec<u8>>> {
        told(self.0.get(key))
    }
    fn add(&mut self, key: &str, value: &[u8]) -> Answer<bool> {
        let absent = self.get(key)?.is_none();
        done(self.0.add(key, value, 0), absent)
    }
    fn delete(&mut self, key: &str) -> Answer<bool> {
        told(self.0.delete(key))
    }
    fn incr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>> {
        counted(self.0.increment(key, delta))
    }
    fn decr(&mut self, key: &str, delta: u64) -> Answer<Option<u64>> {
        counted(self.0.decrement(key, delta))
    }
    fn get_many(&mut self, keys: &[&str]) -> Answer<HashMap<String, Vec<u8>>> {
        told(self.0.gets(keys))
    }
    fn types(&mut self) -> Answer<()> {
        told(self.0.set("typed", 17, 0))?;
        same(told(self.0.get::<u32>("typed"))?, Some(17), "a number")?;
        told(self.0.set("typed", "text", 0))?;
        same(told(self.0.get::<String>("typed"))?, Some("text".to_string()), "text")
    }
    fn flush_all(&mut self) -> Answer<()> {
        told(self.0.flush())
    }
    fn version(&mut self) -> Answer<String> {
        told(self.0.version()).map(|all| all[0].1.clone())
    }
    fn replace(&mut self, key: &str, value: &[u8]) -> Answer<bool> {
        let there = self.get(key)?.is_some();
        done(self.0.replace(key, value, 0), there)
    }
    fn append(&mut self, key: &str, value: &[u8]) -> Answer<bool> {
        let there = self.get(key)?.is_some();
        done(self.0.append(key, value), there)
    }
    fn prepend(&mut self, key: &str, value: &[u8]) -> Answer<bool> {
        let there = self.get(key)?.is_some();
        done(self.0.prepend(key, value), there)
    }
    fn gets(&mut self, key: &str) -> Answer<u64> {
        let mut found: HashMap<String, (Vec<u8>, u32, Option<u64>)> = told(self.0.gets(&[key]))?;
        let token = found.remove(key).and_then(|one| one.2);
        token.ok_or("gets gave no token".to_string())
    }
    fn cas(&mut self, key: &str, value: &[u8], token: u64) -> Answer<bool> {
        told(self.0.cas(key, value, 0, token))
    }
    fn touch(&mut self, key: &str, seconds: u32) -> Answer<bool> {
        told(self.0.touch(key, seconds))
    }
}

fn main() {
    let given: Vec<String> = std::env::args().collect();
    let server = format!("memcache://{}:{}?protocol=ascii&timeout=20", given[1], given[2]);
    match memcache::Client::with_pool_size(server, 1) {
        Ok(client) => scenario::run(&mut Memcache(client), &given[3]),
        Err(why) => {
            println!("FAILED connect: {why}");
            std::process::exit(1);
        }
    }
}
