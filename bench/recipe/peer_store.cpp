// A peer of bench/peers as a store. Its files are in the same memory as Holdfast's regions, so that
// no disk is part of the comparison.
#include "bench/compare/peer_library.hpp"
#include "bench/recipe/store.hpp"

#include <algorithm>

namespace hf::bench {

namespace {

constexpr std::string_view synchronous = "-sync";

class peer_directory {
   public:
    explicit peer_directory(std::filesystem::path path) : path_(std::move(path)) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
        std::filesystem::create_directories(path_, ignored);
    }
    ~peer_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    peer_directory(const peer_directory&) = delete;
    peer_directory& operator=(const peer_directory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    std::filesystem::path path_;
};

/// Inserts and updates are puts, which do not report whether the key was there.
class peer_calls {
   public:
    using key = std::string_view;
    explicit peer_calls(connection& c) : connection_(c) {}

    result<bool> get(key k, u64& value) {
        auto found = connection_.get(k, scratch_);
        if (found && *found) value = value_in(scratch_);
        return found;
    }
    result<bool> insert(key k, u64 value) { return put(k, value); }
    result<bool> update(key k, u64 value) { return put(k, value); }
    template <class Visit>
    result<u64> scan(key from, u64 most, Visit&& visit) {
        return connection_.scan(
            from, most,
            [](void* context, key k, key v) {
                (*static_cast<std::remove_reference_t<Visit>*>(context))(k, value_in(v));
            },
            &visit);
    }

   private:
    result<bool> put(key k, u64 value) {
        auto done = connection_.put(k, bytes_of_value(value));
        if (!done) return tl::unexpected(done.error());
        return true;
    }
    connection& connection_;
    std::string scratch_;
};

class peer_store final : public recipe_store {
   public:
    peer_store(std::unique_ptr<peer_library> library, std::unique_ptr<peer_directory> directory,
               std::unique_ptr<contender> at_work)
        : library_(std::move(library)),
          directory_(std::move(directory)),
          at_work_(std::move(at_work)) {}
    ~peer_store() override {
        connections_.clear();
        static_cast<void>(at_work_->close());
    }

    [[nodiscard]] bool scans() const noexcept override { return at_work_->scans(); }
    result<void> begin(unsigned threads) override {
        if (auto begun = at_work_->begin(); !begun) return begun;
        while (connections_.size() < threads) {
            auto made = at_work_->connect();
            if (!made) return tl::unexpected(made.error());
            connections_.push_back(std::move(*made));
        }
        return {};
    }
    result<void> work(unsigned thread, const recipe_work& what, recipe_tally& into) override {
        peer_calls calls(*connections_[thread]);
        return recipe_loop(calls, what, into).run();
    }
    result<void> finish() override { return at_work_->make_durable(); }
    result<void> rest() override {
        connections_.clear();
        if (!is_settled_) {
            if (auto settled = at_work_->settle(); !settled) return settled;
            is_settled_ = true;
        }
        return at_work_->rest();
    }
    [[nodiscard]] std::string settings() const override {
        std::string all;
        for (const auto& [what, value] : at_work_->settings()) {
            if (!all.empty()) all += "; ";
            all.append(what).append(": ").append(value);
        }
        return all;
    }

   private:
    std::unique_ptr<peer_library> library_;
    std::unique_ptr<peer_directory> directory_;
    std::unique_ptr<contender> at_work_;
    std::vector<std::unique_ptr<connection>> connections_;
    bool is_settled_ = false;  ///< since it was loaded
};

}  // namespace

const std::vector<std::string>& recipe_peer_names() {
    static const std::vector<std::string> names{"lmdb", "lmdb-sync", "rocksdb", "rocksdb-sync",
                                                "pmemobj"};
    return names;
}

result<std::unique_ptr<recipe_store>> make_peer_store(const std::string& name,
                                                      const scratch_space& space,
                                                      const recipe_store_options& options) {
    const bool waits = name.ends_with(synchronous);
    auto library = peer_library::load(
        waits ? std::string_view(name).substr(0, name.size() - synchronous.size()) : name);
    if (!library) return tl::unexpected(library.error());
    auto directory = std::make_unique<peer_directory>(space.file("recipe-" + options.name));
    contender_options o;
    o.directory = directory->path();
    o.ack = waits ? acknowledge::durable : acknowledge::behind;
    o.records = options.records;
    o.value_size = sizeof(u64);
    o.key_size = options.keys == recipe_keys::integer ? sizeof(u64) : string_key_bytes;
    o.clients = options.threads;
    o.memory = (u64{64} << 20) + options.records * 256;
    auto opened = (*library)->open(o);
    if (!opened) return tl::unexpected(opened.error());
    return std::make_unique<peer_store>(std::move(*library), std::move(directory),
                                        std::move(*opened));
}

}  // namespace hf::bench
