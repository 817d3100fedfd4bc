// LMDB as a contender. docs/benchmarks.md explains each setting.
#include "bench/peers/contender.hpp"
#include "bench/peers/every_window.hpp"

#include <lmdb.h>

#include <algorithm>

namespace hf::bench {

namespace {

constexpr unsigned env_flags = MDB_NOTLS | MDB_NORDAHEAD | MDB_NOMEMINIT;
constexpr const char* without_write_map = "pwrite";
constexpr unsigned file_mode = 0600;

result<void> checked(int code, const char* what, const std::filesystem::path& where) {
    if (code == MDB_SUCCESS) return {};
    return failure({code == MDB_MAP_FULL || code == ENOSPC ? errc::no_space : errc::io, what,
                    where.string(), mdb_strerror(code), "see LMDB's documentation"});
}

// LMDB takes pointers to mutable data even if it only reads.
MDB_val view(std::string_view s) { return {s.size(), const_cast<char*>(s.data())}; }

std::size_t map_size(const contender_options& o) {
    constexpr std::uint64_t least = std::uint64_t{1} << 30;
    return std::max(least, 8 * o.records * (o.value_size + o.key_size + 56));
}

class lmdb_connection final : public connection {
   public:
    lmdb_connection(MDB_env* env, MDB_dbi dbi, const std::filesystem::path& where)
        : env_(env), dbi_(dbi), where_(where) {}
    ~lmdb_connection() override {
        if (cursor_ != nullptr) mdb_cursor_close(cursor_);
        if (reading_ != nullptr) mdb_txn_abort(reading_);
    }

    /// One read transaction for the whole life, reset after each get, keeps its slot in the reader
    /// table.
    result<void> open() {
        auto done = checked(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reading_),
                            "begin reading from LMDB", where_);
        if (done) mdb_txn_reset(reading_);
        return done;
    }

    result<bool> get(std::string_view key, std::string& value) override {
        MDB_val wanted = view(key);
        MDB_val found{};
        int code = mdb_txn_renew(reading_);
        if (code == MDB_SUCCESS) {
            code = mdb_get(reading_, dbi_, &wanted, &found);
            if (code == MDB_SUCCESS) {
                value.assign(static_cast<const char*>(found.mv_data), found.mv_size);
            }
            mdb_txn_reset(reading_);
        }
        if (code == MDB_NOTFOUND) return false;
        if (auto done = checked(code, "read from LMDB", where_); !done) {
            return tl::unexpected(done.error());
        }
        return true;
    }

    result<void> put(std::string_view key, std::string_view value) override {
        MDB_txn* writing = nullptr;
        int code = mdb_txn_begin(env_, nullptr, 0, &writing);
        if (code == MDB_SUCCESS) {
            MDB_val k = view(key);
            MDB_val v = view(value);
            code = mdb_put(writing, dbi_, &k, &v, 0);
            if (code == MDB_SUCCESS) {
                code = mdb_txn_commit(writing);
            } else {
                mdb_txn_abort(writing);
            }
        }
        return checked(code, "write to LMDB", where_);
    }

    result<std::uint64_t> scan(std::string_view from, std::uint64_t most, visitor visit,
                               void* context) override {
        MDB_val key = view(from);
        MDB_val value{};
        std::uint64_t met = 0;
        int code = mdb_txn_renew(reading_);
        if (code == MDB_SUCCESS) {
            code = cursor_ == nullptr ? mdb_cursor_open(reading_, dbi_, &cursor_)
                                      : mdb_cursor_renew(reading_, cursor_);
            if (code == MDB_SUCCESS) code = mdb_cursor_get(cursor_, &key, &value, MDB_SET_RANGE);
            for (; code == MDB_SUCCESS && met < most; ++met) {
                visit(context, bytes(key), bytes(value));
                code = mdb_cursor_get(cursor_, &key, &value, MDB_NEXT);
            }
            mdb_txn_reset(reading_);
        }
        if (code == MDB_NOTFOUND) return met;
        if (auto done = checked(code, "scan LMDB", where_); !done) {
            return tl::unexpected(done.error());
        }
        return met;
    }

   private:
    static std::string_view bytes(const MDB_val& v) {
        return {static_cast<const char*>(v.mv_data), v.mv_size};
    }
    MDB_env* env_;
    MDB_dbi dbi_;
    const std::filesystem::path& where_;
    MDB_txn* reading_ = nullptr;
    MDB_cursor* cursor_ = nullptr;
};

class lmdb_contender final : public contender {
   public:
    explicit lmdb_contender(const contender_options& options)
        : options_(options), syncs_(options.window, [this] { return sync(); }) {}
    ~lmdb_contender() override {
        (void)syncs_.stop();
        if (env_ != nullptr) mdb_env_close(env_);
    }

    result<void> open() {
        int code = mdb_env_create(&env_);
        if (code == MDB_SUCCESS) code = mdb_env_set_mapsize(env_, map_size(options_));
        if (code == MDB_SUCCESS) code = mdb_env_set_maxreaders(env_, options_.clients + 8);
        if (code == MDB_SUCCESS) {
            code = mdb_env_open(env_, options_.directory.c_str(), flags(), file_mode);
        }
        if (code == MDB_SUCCESS) code = open_database();
        return checked(code, "open LMDB", options_.directory);
    }

    result<std::unique_ptr<connection>> connect() override {
        auto made = std::make_unique<lmdb_connection>(env_, dbi_, options_.directory);
        if (auto opened = made->open(); !opened) return tl::unexpected(opened.error());
        return made;
    }
    bool scans() const noexcept override { return true; }

    result<void> begin() override {
        if (options_.ack == acknowledge::behind) syncs_.start();
        return {};
    }
    result<void> make_durable() override { return sync(); }
    result<void> rest() override {
        if (auto stopped = syncs_.stop(); !stopped) return stopped;
        return sync();
    }
    result<void> settle() override { return sync(); }
    result<void> close() override {
        auto done = rest();
        mdb_env_close(env_);
        env_ = nullptr;
        return done;
    }

    facts settings() const override {
        const bool behind = options_.ack == acknowledge::behind;
        return {
            {"version", mdb_version(nullptr, nullptr, nullptr)},
            {"flags",
             std::string("NOTLS NORDAHEAD NOMEMINIT") + (order() != 0 ? " INTEGERKEY" : "") +
                 ((flags() & MDB_WRITEMAP) != 0 ? " WRITEMAP" : "") + (behind ? " NOSYNC" : "")},
            {"map", std::to_string(map_size(options_) >> 20) + " MiB"},
            {"transactions", "one a put"},
            {"syncs", behind ? "mdb_env_sync(force) every window" : "every commit"}};
    }

    counts counters() const override {
        return {{"window syncs", syncs_.times()}, {"window syncs us", syncs_.busy_us()}};
    }

    /// Used pages of the map; they are in the page cache.
    std::uint64_t memory() const override {
        MDB_envinfo info{};
        MDB_stat stat{};
        if (mdb_env_info(env_, &info) != MDB_SUCCESS || mdb_env_stat(env_, &stat) != MDB_SUCCESS) {
            return 0;
        }
        return (info.me_last_pgno + 1) * stat.ms_psize;
    }

   private:
    [[nodiscard]] unsigned flags() const {
        return env_flags | (options_.variant == without_write_map ? 0U : MDB_WRITEMAP) |
               (options_.ack == acknowledge::behind ? MDB_NOSYNC : 0U);
    }

    /// The flag for keys that may be numbers.
    [[nodiscard]] unsigned order() const {
        return options_.key_size == sizeof(std::size_t) ? MDB_INTEGERKEY : 0U;
    }
    int open_database() {
        MDB_txn* txn = nullptr;
        int code = mdb_txn_begin(env_, nullptr, 0, &txn);
        if (code != MDB_SUCCESS) return code;
        code = mdb_dbi_open(txn, nullptr, order(), &dbi_);
        if (code == MDB_SUCCESS) return mdb_txn_commit(txn);
        mdb_txn_abort(txn);
        return code;
    }

    result<void> sync() { return checked(mdb_env_sync(env_, 1), "sync LMDB", options_.directory); }

    contender_options options_;
    MDB_env* env_ = nullptr;
    MDB_dbi dbi_ = 0;
    every_window syncs_;
};

}  // namespace

}  // namespace hf::bench

unsigned hf_bench_peer_interface() { return hf::bench::contender_interface; }

hf::bench::contender* hf_bench_peer_open(const hf::bench::contender_options& options,
                                         hf::error& why) {
    auto made = std::make_unique<hf::bench::lmdb_contender>(options);
    if (auto opened = made->open(); !opened) {
        why = opened.error();
        return nullptr;
    }
    return made.release();
}
