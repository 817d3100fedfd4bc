// Berkeley DB: its B-tree and its hash table, in an environment with transactions. Every commit
// syncs the log, which on tmpfs costs only a system call.
#include "bench/peers/object_rival.hpp"

#include <db.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>

namespace hf::bench {

namespace {

/// Thrown in one of two transactions that wait for each other's pages; it is retried.
struct deadlock {};

void must(int status, const char* what) {
    if (status == DB_LOCK_DEADLOCK) throw deadlock{};
    if (status != 0) {
        throw std::runtime_error(std::string("Berkeley DB: ") + what + ": " + db_strerror(status));
    }
}

class bdb final : public object_rival {
   public:
    explicit bdb(const object_options& options)
        : is_lazy_(options.variant == "fast"), is_shared_(options.threads > 1) {
        must(db_env_create(&environment_, 0), "make an environment");
        constexpr u_int32_t gigabytes = 1;
        must(environment_->set_cachesize(environment_, gigabytes, 0, 1), "set the cache");
        constexpr u_int32_t log_buffer = 16 << 20;
        must(environment_->set_lg_bsize(environment_, log_buffer), "set the log's buffer");
        must(environment_->set_lg_max(environment_, 4 * log_buffer), "set the log's size");
        must(environment_->log_set_config(environment_, DB_LOG_AUTO_REMOVE, 1), "configure logs");
        if (is_lazy_) must(environment_->set_flags(environment_, DB_TXN_NOSYNC, 1), "do not sync");
        u_int32_t flags = DB_CREATE | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_MPOOL | DB_PRIVATE;
        if (is_shared_) {
            flags |= DB_THREAD | DB_INIT_LOCK;
            must(environment_->set_lk_detect(environment_, DB_LOCK_DEFAULT), "detect deadlocks");
        }
        must(environment_->open(environment_, options.directory.c_str(), flags, 0600),
             "open the environment");
    }
    ~bdb() override {
        if (table_ != nullptr) (void)table_->close(table_, 0);
        (void)environment_->close(environment_, 0);
    }

    [[nodiscard]] bool does(object_work w) const override {
        return w == object_work::tree || w == object_work::hash || w == object_work::field ||
               w == object_work::cache || w == object_work::read || w == object_work::nothing;
    }
    void prepare(object_work w) override {
        must(db_create(&table_, environment_, 0), "make a table");
        is_cache_ = w == object_work::cache;
        const DBTYPE kind = w == object_work::hash || is_cache_ ? DB_HASH : DB_BTREE;
        const u_int32_t flags = DB_CREATE | DB_AUTO_COMMIT | (is_shared_ ? DB_THREAD : 0);
        must(table_->open(table_, nullptr, "table.db", nullptr, kind, flags, 0600),
             "open the table");
        set(0);
    }
    void load(std::span<const std::uint64_t> keys) override {
        constexpr std::size_t at_once = 1000;
        while (!keys.empty()) {
            const auto some = keys.first(std::min(at_once, keys.size()));
            keys = keys.subspan(some.size());
            DB_TXN* t = begin();
            for (const std::uint64_t k : some) put(t, k, k);
            commit(t);
            checkpoint_if_due(some.size());
        }
    }
    void nothing() override { commit(begin()); }
    [[nodiscard]] std::uint64_t read() override {
        std::uint64_t value = 0;
        if (!find(nullptr, field_key, value)) throw std::runtime_error("the field is lost");
        return value;
    }
    void set(std::uint64_t value) override {
        DB_TXN* t = begin();
        put(t, field_key, value);
        commit(t);
        checkpoint_if_due(1);
    }
    void swap(std::span<const pair>) override { throw std::runtime_error("it has no array"); }
    void overwrite(std::uint64_t, std::uint64_t) override {
        throw std::runtime_error("it has no values");
    }
    [[nodiscard]] std::uint64_t last_word(std::uint64_t) override { return 0; }
    [[nodiscard]] std::uint64_t sum() override { return 0; }
    [[nodiscard]] bool toggle(std::uint64_t key) override {
        for (;;) {
            DB_TXN* t = begin();
            try {
                const bool is_there = toggle_in(t, key);
                commit(t);
                checkpoint_if_due(1);
                return is_there;
            } catch (const deadlock&) {
                (void)t->abort(t);
            }
        }
    }
    [[nodiscard]] std::string settings() const override {
        return std::string(db_version(nullptr, nullptr, nullptr)) + "; cache of 1 GiB, " +
               (is_lazy_ ? "commits that do not sync" : "synchronous commits") +
               ", no locking where it has one thread";
    }

   private:
    static constexpr std::uint64_t field_key = ~std::uint64_t{0};

    /// A key of one or two words, or a value of up to 512 bytes.
    using words = std::array<std::uint64_t, 64>;
    static words words_of(std::uint64_t key) {
        words all{};
        all[0] = all[1] = key;
        return all;
    }
    [[nodiscard]] DBT key_thing(words& key) const {
        DBT d = thing(key.data());
        d.size = d.ulen = is_cache_ ? 16 : 8;
        return d;
    }
    static DBT thing(std::uint64_t* word) {
        DBT d;
        std::memset(&d, 0, sizeof d);
        d.data = word;
        d.size = d.ulen = sizeof *word;
        d.flags = DB_DBT_USERMEM;
        return d;
    }
    bool toggle_in(DB_TXN* t, std::uint64_t key) {
        std::uint64_t value = 0;
        const bool was_there = find(t, key, value);
        if (was_there) {
            words name = words_of(key);
            DBT k = key_thing(name);
            must(table_->del(table_, t, &k, 0), "delete");
        } else {
            put(t, key, key);
        }
        return !was_there;
    }
    DB_TXN* begin() {
        DB_TXN* t = nullptr;
        must(environment_->txn_begin(environment_, nullptr, &t, 0), "begin");
        return t;
    }
    static void commit(DB_TXN* t) { must(t->commit(t, 0), "commit"); }
    void put(DB_TXN* t, std::uint64_t key, std::uint64_t value) {
        words k = words_of(key);
        DBT thing_of_key = key_thing(k);
        DBT v = thing(&value);
        words item{};
        if (is_cache_) {
            item.fill(value);
            v.data = item.data();
            v.size = v.ulen = sizeof item;
        }
        must(table_->put(table_, t, &thing_of_key, &v, 0), "put");
    }
    bool find(DB_TXN* t, std::uint64_t key, std::uint64_t& value) {
        words k = words_of(key);
        DBT thing_of_key = key_thing(k);
        words item{};
        DBT v = thing(item.data());
        v.ulen = sizeof item;
        // A read before a write takes the write lock at once.
        const u_int32_t flags = is_shared_ && t != nullptr ? DB_RMW : 0;
        const int status = table_->get(table_, t, &thing_of_key, &v, flags);
        if (status == DB_NOTFOUND) return false;
        must(status, "get");
        value = item[0];
        return true;
    }
    /// Otherwise the logs would fill the file system.
    void checkpoint_if_due(std::size_t transactions) {
        constexpr std::size_t every = 200'000;
        const std::size_t before = done_.fetch_add(transactions, std::memory_order_relaxed);
        if (before / every == (before + transactions) / every) return;
        must(environment_->txn_checkpoint(environment_, 0, 0, 0), "make a checkpoint");
    }

    DB_ENV* environment_ = nullptr;
    DB* table_ = nullptr;
    std::atomic<std::size_t> done_{0};
    bool is_lazy_;
    bool is_shared_;
    bool is_cache_ = false;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_rival_interface() { return hf::bench::object_rival_interface; }
hf::bench::object_rival* hf_bench_rival_open(const hf::bench::object_options& options) {
    return new hf::bench::bdb(options);
}
