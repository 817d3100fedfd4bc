// LMDB as a store of objects: its B+ tree, with synchronous commits.
#include "bench/peers/object_rival.hpp"

#include <lmdb.h>

#include <algorithm>
#include <stdexcept>

namespace hf::bench {

namespace {

void must(int status, const char* what) {
    if (status != MDB_SUCCESS) {
        throw std::runtime_error(std::string("LMDB: ") + what + ": " + mdb_strerror(status));
    }
}

class lmdb_objects final : public object_rival {
   public:
    explicit lmdb_objects(const object_options& options)
        : values_(options.elements), value_bytes_(options.value_bytes) {
        must(mdb_env_create(&environment_), "make an environment");
        must(mdb_env_set_mapsize(environment_, std::size_t{4} << 30), "set the size");
        must(mdb_env_open(environment_, options.directory.c_str(), 0, 0600), "open");
    }
    ~lmdb_objects() override { mdb_env_close(environment_); }

    [[nodiscard]] bool does(object_work w) const override {
        return w != object_work::swap && w != object_work::red_black && w != object_work::hash &&
               w != object_work::cache;
    }
    void prepare(object_work w) override {
        MDB_txn* t = begin(false);
        must(mdb_dbi_open(t, nullptr, MDB_INTEGERKEY | MDB_CREATE, &table_), "open the table");
        put(t, field_key, 0);
        if (w == object_work::value) {
            for (std::uint64_t i = 0; i < values_; ++i) fill(t, i, 0);
        }
        commit(t);
    }
    void load(std::span<const std::uint64_t> keys) override {
        MDB_txn* t = begin(false);
        for (const std::uint64_t k : keys) put(t, k, k);
        commit(t);
    }
    void nothing() override { commit(begin(false)); }
    [[nodiscard]] std::uint64_t read() override {
        MDB_txn* t = begin(true);
        std::uint64_t value = 0;
        const bool found = find(t, field_key, value);
        mdb_txn_abort(t);
        if (!found) throw std::runtime_error("the field is lost");
        return value;
    }
    void set(std::uint64_t value) override {
        MDB_txn* t = begin(false);
        put(t, field_key, value);
        commit(t);
    }
    void swap(std::span<const pair>) override { throw std::runtime_error("it has no array"); }
    void overwrite(std::uint64_t which, std::uint64_t word) override {
        MDB_txn* t = begin(false);
        fill(t, which, word);
        commit(t);
    }
    [[nodiscard]] std::uint64_t last_word(std::uint64_t which) override {
        MDB_txn* t = begin(true);
        MDB_val k = thing(&which);
        MDB_val v{};
        must(mdb_get(t, table_, &k, &v), "get");
        const std::uint64_t found = static_cast<const std::uint64_t*>(v.mv_data)[v.mv_size / 8 - 1];
        mdb_txn_abort(t);
        return found;
    }
    [[nodiscard]] std::uint64_t sum() override { return 0; }
    [[nodiscard]] bool toggle(std::uint64_t key) override {
        MDB_txn* t = begin(false);
        std::uint64_t value = 0;
        const bool is_there = find(t, key, value);
        if (is_there) {
            MDB_val k = thing(&key);
            must(mdb_del(t, table_, &k, nullptr), "delete");
        } else {
            put(t, key, key);
        }
        commit(t);
        return !is_there;
    }
    [[nodiscard]] std::string settings() const override {
        return std::string(mdb_version(nullptr, nullptr, nullptr)) + "; synchronous commits";
    }

   private:
    static constexpr std::uint64_t field_key = ~std::uint64_t{0};

    static MDB_val thing(std::uint64_t* word) { return {sizeof *word, word}; }
    MDB_txn* begin(bool reads) {
        MDB_txn* t = nullptr;
        must(mdb_txn_begin(environment_, nullptr, reads ? MDB_RDONLY : 0, &t), "begin");
        return t;
    }
    static void commit(MDB_txn* t) { must(mdb_txn_commit(t), "commit"); }
    void put(MDB_txn* t, std::uint64_t key, std::uint64_t value) {
        MDB_val k = thing(&key);
        MDB_val v = thing(&value);
        must(mdb_put(t, table_, &k, &v, 0), "put");
    }
    /// In the page itself: the value is not copied once more.
    void fill(MDB_txn* t, std::uint64_t key, std::uint64_t word) {
        MDB_val k = thing(&key);
        MDB_val v{value_bytes_, nullptr};
        must(mdb_put(t, table_, &k, &v, MDB_RESERVE), "put");
        std::fill_n(static_cast<std::uint64_t*>(v.mv_data), value_bytes_ / 8, word);
    }
    bool find(MDB_txn* t, std::uint64_t key, std::uint64_t& value) {
        MDB_val k = thing(&key);
        MDB_val v{};
        const int status = mdb_get(t, table_, &k, &v);
        if (status == MDB_NOTFOUND) return false;
        must(status, "get");
        value = *static_cast<const std::uint64_t*>(v.mv_data);
        return true;
    }

    std::uint64_t values_;
    std::uint64_t value_bytes_;
    MDB_env* environment_ = nullptr;
    MDB_dbi table_ = 0;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_rival_interface() { return hf::bench::object_rival_interface; }
hf::bench::object_rival* hf_bench_rival_open(const hf::bench::object_options& options) {
    return new hf::bench::lmdb_objects(options);
}
