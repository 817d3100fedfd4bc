#include "bench/layers/contestant.hpp"

#include "bench/heap/rival_library.hpp"
#include "bench/layers/plain_items.hpp"
#include "persist/medium.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

namespace hf::bench {

namespace {

constexpr std::string_view undo_log = "c-tx undo";
constexpr std::string_view by_malloc = "malloc";
constexpr std::string_view lazy_bdb = "bdb fast";

std::optional<layer_kind> layer_of(std::string_view who) {
    if (who == undo_log) return layer_kind::c_tx;
    const auto& all = layer_names();
    const auto at = std::find(all.begin(), all.end(), who);
    if (at == all.end()) return std::nullopt;
    return static_cast<layer_kind>(at - all.begin());
}

std::optional<object_work> peer_work(work_kind work) {
    switch (work) {
        case work_kind::sps:
            return object_work::swap;
        case work_kind::b_tree:
            return object_work::tree;
        case work_kind::red_black:
            return object_work::red_black;
        case work_kind::hash_table:
            return object_work::hash;
        case work_kind::cache:
            return object_work::cache;
        default:
            return std::nullopt;
    }
}

u64 elements_for(const layer_bench_options& o, work_kind work) {
    switch (work) {
        case work_kind::six_degrees:
            return o.vertices;
        case work_kind::ssca:
            return o.graph;
        case work_kind::cache:
            return o.items;
        default:
            return o.elements;
    }
}

}  // namespace

work_options work_options_for(const layer_bench_options& o, const entry_of_figure& who,
                              work_kind work, u64 swaps) {
    static std::atomic<unsigned> made{0};
    work_options w;
    w.work = work;
    w.swaps = swaps;
    w.seed = o.seed;
    w.elements = elements_for(o, work);
    constexpr u64 least = u64{128} << 20;
    const u64 of_element = work == work_kind::cache         ? 1600
                           : work == work_kind::six_degrees ? 2000
                           : work == work_kind::sps         ? 64
                                                            : 400;
    w.bytes = least + of_element * w.elements;
    w.layer = layer_of(who.who).value_or(layer_kind::c_tx);
    w.engine = who.who == undo_log ? nv::engine::undo : nv::engine::redo;
    const bool on_disk = who.storage == "disk";
    w.fence_latency_ns = on_disk ? 0 : latency_preset(who.storage).value_or(0);
    w.directory = (on_disk ? o.disk : o.directory) /
                  fmt::format("hf-bench-layers.{}.{}", ::getpid(), made.fetch_add(1));
    if (on_disk) w.medium = medium_kind::file;
    return w;
}

layer_contestant::layer_contestant(const layer_bench_options& o, entry_of_figure who,
                                   work_kind work, u64 swaps)
    : name_(std::move(who)), work_(work), swaps_(swaps) {
    const work_options w = work_options_for(o, name_, work, swaps);
    directory_ = w.directory;
    elements_ = w.elements;
    seed_ = w.seed;
    std::filesystem::create_directories(directory_);
    if (name_.who == by_malloc) {
        own_ = std::make_unique<plain_items>(w);
    } else if (layer_of(name_.who)) {
        own_ = open_workload(w);
    } else {
        object_options p;
        p.directory = directory_;
        p.elements = w.elements;
        p.bytes = 2 * w.bytes;
        p.variant = name_.who == lazy_bdb ? "fast" : "";
        auto opened = open_rival(name_.who == lazy_bdb ? "bdb" : name_.who, p);
        if (!opened) throw std::runtime_error(opened.error().to_string());
        peer_ = std::move(*opened);
    }
}

layer_contestant::~layer_contestant() {
    own_.reset();
    peer_.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

bool layer_contestant::does(const entry_of_figure& who, work_kind work) {
    if (who.who == by_malloc || who.who == lazy_bdb) return work == work_kind::cache;
    if (layer_of(who.who)) return true;
    if (who.who == "libpmemobj") return work != work_kind::cache && peer_work(work).has_value();
    if (who.who == "lmdb") return work == work_kind::b_tree;
    return work == work_kind::b_tree || work == work_kind::hash_table || work == work_kind::cache;
}

bool layer_contestant::has_threads() const { return own_ != nullptr && own_->has_threads(); }

void layer_contestant::make() {
    if (own_ != nullptr) return own_->make();
    peer_->prepare(*peer_work(work_));
    if (work_ == work_kind::sps) return;
    xoshiro256ss random(seed_);
    std::vector<u64> keys;
    for (u64 k = 0; k < 2 * elements_; ++k) {
        if (random.below(2) == 0) keys.push_back(k);
    }
    for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
    peer_->load(keys);
}

void layer_contestant::step(xoshiro256ss& random, const zipfian* skewed) {
    if (own_ != nullptr) {
        (void)own_->step(random, skewed);
    } else if (work_ == work_kind::sps) {
        places_.clear();
        for (u64 i = 0; i < swaps_; ++i) {
            places_.emplace_back(draw(random, skewed, elements_), draw(random, skewed, elements_));
        }
        peer_->swap(places_);
    } else {
        (void)peer_->toggle(draw(random, skewed, 2 * elements_));
    }
}

std::string layer_contestant::complaints() {
    return own_ != nullptr ? own_->complaints() : std::string();
}

}  // namespace hf::bench
