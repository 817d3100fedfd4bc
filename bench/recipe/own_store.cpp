// Holdfast's stores: the five eager indexes, with both disciplines, and the checkpointed map.
#include <holdfast/map.hpp>

#include "bench/recipe/store.hpp"
#include "bench/subject.hpp"
#include "checkpoint_map/engine.hpp"
#include "eager_map/engine.hpp"
#include "map/inspect.hpp"

#include <type_traits>

namespace hf::bench {

namespace {

constexpr u64 page_bytes = 4096;
/// As in RECIPE's driver: memory is touched before the measurement.
void touch(const region& r) {
    for (u64 at = 0; at < r.size(); at += page_bytes) {
        static_cast<void>(*r.at<volatile char>(at));
    }
}

/// Size of a region that holds this many records of any index without growing.
u64 bytes_for(u64 records) { return (u64{128} << 20) + records * 256; }

std::string settings_of(const region& r) {
    const medium& m = r.med();
    return std::string(hf::to_string(m.kind())) + ", flush " +
           std::string(hf::to_string(m.instruction()));
}

class own_file {
   public:
    own_file(const scratch_space& space, const std::string& name)
        : space_(space), path_(space.file("recipe-" + name)) {
        space_.remove(path_);
    }
    ~own_file() { space_.remove(path_); }
    own_file(const own_file&) = delete;
    own_file& operator=(const own_file&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    const scratch_space& space_;
    std::filesystem::path path_;
};

template <class Key, class Owned>
class index_calls {
   public:
    using key = Key;
    explicit index_calls(detail::eager_engine<Key, Owned>& e) : engine_(e) {}

    result<bool> get(Key k, u64& value) {
        if constexpr (std::is_same_v<Key, u64>) {
            return engine_.get(k, value);
        } else {
            if (!engine_.get(k, scratch_)) return false;
            value = value_in(scratch_);
            return true;
        }
    }
    result<bool> insert(Key k, u64 value) { return engine_.insert(k, as_value(value)); }
    result<bool> update(Key k, u64 value) { return engine_.update(k, as_value(value)); }
    template <class Visit>
    result<u64> scan(Key from, u64 most, Visit&& visit) {
        const auto both = [&](Key k, Key v) {
            if constexpr (std::is_same_v<Key, u64>) {
                visit(k, v);
            } else {
                visit(k, value_in(v));
            }
        };
        return engine_.scan_with(from, most, false, both);
    }

   private:
    static Key as_value(const u64& value) noexcept {
        if constexpr (std::is_same_v<Key, u64>) {
            return value;
        } else {
            return bytes_of_value(value);
        }
    }
    detail::eager_engine<Key, Owned>& engine_;
    Owned scratch_{};
};

template <class Key, class Owned>
class index_store final : public recipe_store {
   public:
    index_store(std::unique_ptr<own_file> file,
                std::unique_ptr<detail::eager_engine<Key, Owned>> engine)
        : file_(std::move(file)), engine_(std::move(engine)) {
        touch(engine_->space().file());
    }

    [[nodiscard]] bool scans() const noexcept override { return engine_->is_ordered(); }
    result<void> work(unsigned, const recipe_work& what, recipe_tally& into) override {
        index_calls<Key, Owned> calls(*engine_);
        return recipe_loop(calls, what, into).run();
    }
    [[nodiscard]] std::string settings() const override {
        return settings_of(engine_->space().file());
    }

   private:
    std::unique_ptr<own_file> file_;
    std::unique_ptr<detail::eager_engine<Key, Owned>> engine_;
};

class map_calls {
   public:
    using key = std::string_view;
    explicit map_calls(map& m) : map_(m) {}

    result<bool> get(key k, u64& value) {
        auto found = map_.get(k, scratch_);
        if (found && *found) value = value_in(scratch_);
        return found;
    }
    result<bool> insert(key k, u64 value) {
        auto done = map_.put(k, bytes_of_value(value));
        if (!done) return tl::unexpected(done.error());
        return !done->existed;
    }
    result<bool> update(key k, u64 value) {
        auto done = map_.put(k, bytes_of_value(value));
        if (!done) return tl::unexpected(done.error());
        return done->existed;
    }
    template <class Visit>
    result<u64> scan(key from, u64 most, Visit&& visit) {
        u64 left = most;
        auto done = map_.scan(from, [&](key k, key v) {
            visit(k, value_in(v));
            return --left != 0;
        });
        if (!done) return tl::unexpected(done.error());
        return most - left;
    }

   private:
    map& map_;
    std::string scratch_;
};

class map_store final : public recipe_store {
   public:
    map_store(std::unique_ptr<own_file> file, map opened)
        : file_(std::move(file)), map_(std::move(opened)) {
        touch(map_inspection::machine_of(map_).file());
    }
    [[nodiscard]] bool scans() const noexcept override { return true; }
    result<void> work(unsigned, const recipe_work& what, recipe_tally& into) override {
        map_calls calls(map_);
        return recipe_loop(calls, what, into).run();
    }
    result<void> finish() override { return map_.sync(); }
    [[nodiscard]] std::string settings() const override {
        return "epochs of 64 ms, hints where keys are";
    }

   private:
    std::unique_ptr<own_file> file_;
    map map_;
};

template <class Key, class Owned>
result<std::unique_ptr<recipe_store>> open_index(std::unique_ptr<own_file> file,
                                                 const eager_map_options& o) {
    auto opened = detail::open_engine<Key, Owned>(file->path(), o);
    if (!opened) return tl::unexpected(opened.error());
    return std::make_unique<index_store<Key, Owned>>(std::move(file), std::move(*opened));
}

}  // namespace

result<std::unique_ptr<recipe_store>> make_index_store(const std::string& name,
                                                       const scratch_space& space,
                                                       const recipe_store_options& options) {
    auto file = std::make_unique<own_file>(space, options.name);
    const std::size_t dash = name.find('-');
    eager_map_options o;
    o.index = name.substr(0, dash);
    o.transient = name.substr(dash + 1) == yardstick;
    o.region.mode = open_mode::create_new;
    o.region.initial_size = bytes_for(options.records);
    o.region.flush = o.transient ? flush_policy::automatic : flush_policy::always;
    if (options.keys == recipe_keys::integer) return open_index<u64, u64>(std::move(file), o);
    return open_index<std::string_view, std::string>(std::move(file), o);
}

result<std::unique_ptr<recipe_store>> make_map_store(const scratch_space& space,
                                                     const recipe_store_options& options) {
    auto file = std::make_unique<own_file>(space, options.name);
    map_options o;
    o.region.mode = open_mode::create_new;
    o.region.initial_size = size_for(options.records, string_key_bytes + sizeof(u64));
    o.region.flush = flush_policy::always;
    auto opened = map::open(file->path(), o);
    if (!opened) return tl::unexpected(opened.error());
    return std::make_unique<map_store>(std::move(file), std::move(*opened));
}

}  // namespace hf::bench
