// libpmemobj as a contender: a hash map in a pool, changed in its transactions. A record is one
// object, a put one transaction; each is durable when it returns, whatever the options say.
//
// A pool has no concurrent structure: readers share a lock, a writer holds it exclusively.
#include "bench/peers/contender.hpp"
#include "bench/peers/pmemobj_pool.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>

namespace hf::bench {

namespace {

using pmem::link;
using pmem::pool;
using pmem::word;

struct map_entry {
    link<map_entry> next;
    word key_bytes;
    word value_bytes;
    [[nodiscard]] char* key() { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] char* value() { return key() + key_bytes; }
};
struct map_root {
    word buckets;
    word first;  ///< offset of the array of links
};

class pmemobj_map {
   public:
    pmemobj_map(const std::filesystem::path& directory, std::size_t bytes, word buckets)
        : pool_(directory / "pool", bytes), root_(pool_.root<map_root>()) {
        pool_.transact([&] {
            pool::changing(root_);
            root_->buckets = buckets;
            root_->first = pool::make<link<map_entry>>(buckets * sizeof(link<map_entry>)).offset;
        });
    }

    bool get(std::string_view key, std::string& value) {
        const std::shared_lock lock(mutex_);
        const link<map_entry> found = find(key);
        if (!found) return false;
        map_entry* const e = pool_.at(found);
        value.assign(e->value(), e->value_bytes);
        return true;
    }
    /// A value of the same size is replaced in place.
    void put(std::string_view key, std::string_view value) {
        const std::unique_lock lock(mutex_);
        const link<map_entry> found = find(key);
        pool_.transact([&] {
            if (found && pool_.at(found)->value_bytes == value.size()) {
                return replace(*pool_.at(found), value);
            }
            insert(key, value);
        });
    }

   private:
    [[nodiscard]] link<map_entry>* bucket(std::string_view key) const {
        word h = 0xcbf29ce484222325U;
        for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        h ^= h >> 32;
        return pool_.at(link<link<map_entry>>{root_->first}) + h % root_->buckets;
    }
    [[nodiscard]] link<map_entry> find(std::string_view key) const {
        link<map_entry> at = *bucket(key);
        for (; at; at = pool_.at(at)->next) {
            map_entry* const e = pool_.at(at);
            if (std::string_view(e->key(), e->key_bytes) == key) break;
        }
        return at;
    }
    static void replace(map_entry& e, std::string_view value) {
        if (pmemobj_tx_add_range_direct(e.value(), value.size()) != 0) pmem::fail("log a range");
        std::memcpy(e.value(), value.data(), value.size());
    }
    void insert(std::string_view key, std::string_view value) {
        const link<map_entry> made =
            pool::make<map_entry>(sizeof(map_entry) + key.size() + value.size());
        link<map_entry>* const head = pool::changing(bucket(key));
        map_entry* const e = pool_.at(made);
        e->next = *head;
        e->key_bytes = key.size();
        e->value_bytes = value.size();
        std::memcpy(e->key(), key.data(), key.size());
        std::memcpy(e->value(), value.data(), value.size());
        *head = made;
    }

    pool pool_;
    map_root* root_;
    std::shared_mutex mutex_;
};

result<void> failed(const std::runtime_error& why) {
    return failure({errc::io, "use libpmemobj", "pool", why.what(), "see its manual"});
}

class pmemobj_connection final : public connection {
   public:
    explicit pmemobj_connection(pmemobj_map& m) : map_(m) {}
    result<bool> get(std::string_view key, std::string& value) override {
        return map_.get(key, value);
    }
    result<void> put(std::string_view key, std::string_view value) override {
        try {
            map_.put(key, value);
        } catch (const std::runtime_error& why) {
            return failed(why);
        }
        return {};
    }

   private:
    pmemobj_map& map_;
};

class pmemobj_contender final : public contender {
   public:
    explicit pmemobj_contender(const contender_options& o)
        : map_(o.directory, pool_bytes(o), std::max<word>(o.records, 1)), bytes_(pool_bytes(o)) {}

    result<std::unique_ptr<connection>> connect() override {
        return std::make_unique<pmemobj_connection>(map_);
    }
    result<void> begin() override { return {}; }
    result<void> make_durable() override { return {}; }
    result<void> rest() override { return {}; }
    result<void> settle() override { return {}; }
    result<void> close() override { return {}; }
    facts settings() const override {
        return {{"version", std::to_string(PMEMOBJ_MAJOR_VERSION) + "." +
                                std::to_string(PMEMOBJ_MINOR_VERSION)},
                {"structure", "a chained hash map, as many buckets as records"},
                {"transactions", "one a put"},
                {"pool", "told to be persistent memory, so lines are written back"}};
    }
    counts counters() const override { return {}; }
    std::uint64_t memory() const override { return bytes_; }

   private:
    static std::size_t pool_bytes(const contender_options& o) {
        // An object has a header of 16 bytes; in the worst case its size is rounded up to 64.
        const std::size_t record = sizeof(map_entry) + o.key_size + o.value_size + 80;
        return (std::size_t{64} << 20) + o.records * (record + 16) * 3 / 2;
    }
    pmemobj_map map_;
    std::size_t bytes_;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_peer_interface() { return hf::bench::contender_interface; }

hf::bench::contender* hf_bench_peer_open(const hf::bench::contender_options& options,
                                         hf::error& why) {
    try {
        return new hf::bench::pmemobj_contender(options);
    } catch (const std::runtime_error& problem) {
        why = {hf::errc::io, "open libpmemobj", options.directory.string(), problem.what(),
               "see its manual"};
        return nullptr;
    }
}
