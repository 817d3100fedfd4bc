// RocksDB as a contender. docs/benchmarks.md explains each setting.
#include "bench/peers/contender.hpp"
#include "bench/peers/every_window.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <thread>

namespace hf::bench {

namespace {

constexpr std::size_t write_buffer = std::size_t{256} << 20;
constexpr int write_buffers = 4;

std::string version() {
    return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
           std::to_string(ROCKSDB_PATCH);
}

rocksdb::Slice slice(std::string_view s) { return {s.data(), s.size()}; }

result<void> checked(const rocksdb::Status& status, const char* what,
                     const std::filesystem::path& where) {
    if (status.ok()) return {};
    return failure({status.IsNoSpace() ? errc::no_space : errc::io, what, where.string(),
                    status.ToString(), "see the file LOG there"});
}

rocksdb::BlockBasedTableOptions table_options(std::uint64_t memory) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(std::max<std::uint64_t>(memory, 64U << 20));
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    return table;
}

rocksdb::Options options_for(const contender_options& wanted) {
    rocksdb::Options o;
    o.create_if_missing = true;
    o.compression = rocksdb::kNoCompression;
    o.write_buffer_size = write_buffer;
    o.max_write_buffer_number = write_buffers;
    o.memtable_prefix_bloom_size_ratio = 0.02;
    o.memtable_whole_key_filtering = true;
    o.max_bytes_for_level_base = write_buffer * write_buffers;
    o.level_compaction_dynamic_level_bytes = true;
    o.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
    o.max_open_files = -1;
    o.manual_wal_flush = wanted.ack == acknowledge::behind;
    o.stats_dump_period_sec = 0;
    o.stats_persist_period_sec = 0;
    o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(wanted.memory)));
    return o;
}

class rocksdb_connection final : public connection {
   public:
    rocksdb_connection(rocksdb::DB& db, const contender_options& o) : db_(db), where_(o.directory) {
        writing_.sync = o.ack == acknowledge::durable;
        reading_.verify_checksums = false;
    }

    result<bool> get(std::string_view key, std::string& value) override {
        const auto status = db_.Get(reading_, db_.DefaultColumnFamily(), slice(key), &found_);
        if (status.IsNotFound()) return false;
        if (auto done = checked(status, "read from RocksDB", where_); !done) {
            return tl::unexpected(done.error());
        }
        value.assign(found_.data(), found_.size());
        found_.Reset();
        return true;
    }

    result<void> put(std::string_view key, std::string_view value) override {
        return checked(db_.Put(writing_, slice(key), slice(value)), "write to RocksDB", where_);
    }

    result<std::uint64_t> scan(std::string_view from, std::uint64_t most, visitor visit,
                               void* context) override {
        const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(reading_));
        std::uint64_t met = 0;
        for (at->Seek(slice(from)); met < most && at->Valid(); at->Next(), ++met) {
            const rocksdb::Slice key = at->key();
            const rocksdb::Slice value = at->value();
            visit(context, {key.data(), key.size()}, {value.data(), value.size()});
        }
        if (auto done = checked(at->status(), "scan RocksDB", where_); !done) {
            return tl::unexpected(done.error());
        }
        return met;
    }

   private:
    rocksdb::DB& db_;
    const std::filesystem::path& where_;
    rocksdb::WriteOptions writing_;
    rocksdb::ReadOptions reading_;
    rocksdb::PinnableSlice found_;
};

class rocksdb_contender final : public contender {
   public:
    explicit rocksdb_contender(const contender_options& options)
        : options_(options), syncs_(options.window, [this] { return sync(); }) {}

    result<void> open() {
        rocksdb::DB* db = nullptr;
        const auto status =
            rocksdb::DB::Open(options_for(options_), options_.directory.string(), &db);
        db_.reset(db);
        return checked(status, "open RocksDB", options_.directory);
    }

    result<std::unique_ptr<connection>> connect() override {
        return std::make_unique<rocksdb_connection>(*db_, options_);
    }
    bool scans() const noexcept override { return true; }

    result<void> begin() override {
        if (options_.ack == acknowledge::behind) syncs_.start();
        if (!paused_) return {};
        paused_ = false;
        return checked(db_->ContinueBackgroundWork(), "go on with RocksDB", options_.directory);
    }

    result<void> make_durable() override { return sync(); }

    result<void> rest() override {
        if (auto stopped = syncs_.stop(); !stopped) return stopped;
        if (auto synced = sync(); !synced || paused_) return synced;
        paused_ = true;
        return checked(db_->PauseBackgroundWork(), "pause RocksDB", options_.directory);
    }

    result<void> settle() override {
        auto flushed = checked(db_->Flush({}), "flush RocksDB", options_.directory);
        while (flushed && busy()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return flushed;
    }

    result<void> close() override {
        if (auto resting = rest(); !resting) return resting;
        if (auto on = begin(); !on) return on;
        if (auto stopped = syncs_.stop(); !stopped) return stopped;
        auto closed = checked(db_->Close(), "close RocksDB", options_.directory);
        db_.reset();
        return closed;
    }

    facts settings() const override {
        const auto o = options_for(options_);
        const bool behind = options_.ack == acknowledge::behind;
        return {{"version", version()},
                {"compression", "none"},
                {"write buffers", std::to_string(write_buffers) + " of " +
                                      std::to_string(write_buffer >> 20) + " MiB"},
                {"block cache", std::to_string(options_.memory >> 20) + " MiB"},
                {"filters", "bloom, 10 bits a key; whole keys in write buffers"},
                {"background jobs", std::to_string(o.max_background_jobs)},
                {"WAL", behind ? "manual_wal_flush, FlushWAL(sync) every window"
                               : "WriteOptions.sync, group commit"}};
    }

    counts counters() const override {
        return {{"window syncs", syncs_.times()}, {"window syncs us", syncs_.busy_us()}};
    }

    /// Write buffers, cached blocks, and the indexes and filters outside of the cache.
    std::uint64_t memory() const override {
        std::uint64_t sum = 0;
        for (const auto& what :
             {rocksdb::DB::Properties::kSizeAllMemTables, rocksdb::DB::Properties::kBlockCacheUsage,
              rocksdb::DB::Properties::kEstimateTableReadersMem}) {
            std::uint64_t value = 0;
            if (db_->GetIntProperty(what, &value)) sum += value;
        }
        return sum;
    }

   private:
    result<void> sync() { return checked(db_->FlushWAL(true), "sync RocksDB", options_.directory); }

    [[nodiscard]] bool busy() const {
        for (const auto& what : {rocksdb::DB::Properties::kMemTableFlushPending,
                                 rocksdb::DB::Properties::kNumRunningFlushes,
                                 rocksdb::DB::Properties::kCompactionPending,
                                 rocksdb::DB::Properties::kNumRunningCompactions}) {
            std::uint64_t value = 0;
            if (db_->GetIntProperty(what, &value) && value != 0) return true;
        }
        return false;
    }

    contender_options options_;
    std::unique_ptr<rocksdb::DB> db_;
    bool paused_ = false;
    every_window syncs_;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_peer_interface() { return hf::bench::contender_interface; }

hf::bench::contender* hf_bench_peer_open(const hf::bench::contender_options& options,
                                         hf::error& why) {
    auto made = std::make_unique<hf::bench::rocksdb_contender>(options);
    if (auto opened = made->open(); !opened) {
        why = opened.error();
        return nullptr;
    }
    return made.release();
}
