// tree_fixture.hpp: a tree of any discipline on a region of its own, for tests and benchmarks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "index/masstree/masstree.hpp"

namespace hf::test {

/// A path in tmpfs that no other test has; the file is removed at the end.
class scratch_file {
   public:
    scratch_file() {
        static int n = 0;
        path_ = "/dev/shm/hf-test-" + std::to_string(::getpid()) + "-" + std::to_string(n++) + ".hf";
        std::filesystem::remove(path_);
    }
    ~scratch_file() { std::filesystem::remove(path_); }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
};

template <class T>
T must(result<T> r) {
    if (!r) {
        ADD_FAILURE() << r.error().to_string();
        std::abort();
    }
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Region, domain, heap and tree, opened in the order of the recovery driver.
template <class D>
class engine {
   public:
    explicit engine(const std::string& path, region_options options = {}, domain_options clock = {}) {
        options.kind = D::kind;
        clock.durable = D::durable;
        if (D::durable) {
            options.initial_size = std::max<u64>(options.initial_size, u64{16} << 20);
            region_ = must(region::open(path, options));
        } else {
            region_ = must(region::create_volatile(u64{64} << 20, options));
        }
        if (region_->created() || region_->is_volatile()) must(format_heap(*region_));
        domain_ = must(domain::open(*region_, clock));
        must(domain_->recover_log());
        heap_ = std::make_unique<heap<D>>(*domain_);
        must(heap_->recover());
        auto found = region_->find_root("map");
        layout::root* root = found ? *found : must(region_->add_root("map", 1));
        auto& cell = *reinterpret_cast<logged_cell*>(&root->value);
        if (cell.recover(domain_->failed(), 0)) region_->med().persist(&cell, sizeof(cell));
        must(domain_->start());
        const u64 generation = region_->super().generation;
        if (cell.get(0) == 0) {
            operation op(*domain_);
            const u64 made = must(masstree<D>::create_root(*heap_, op, generation));
            if (cell.begin(op.epoch())) op.my_lane().note_sticky(&cell, sizeof(cell));
            cell.set(0, made);
            op.my_lane().mark_written();
        }
        tree_ = std::make_unique<masstree<D>>(*heap_, cell.get(0), generation);
    }

    masstree<D>& tree() { return *tree_; }
    domain& epochs() { return *domain_; }
    heap<D>& memory() { return *heap_; }
    region& file() { return *region_; }

    bool put(std::string_view key, std::string_view value) {
        operation op(*domain_);
        const u64 r = must(tree_->make_record(op, key, value));
        const auto done = must(tree_->update(op, key, [&](const auto*) {
            return decision{decision::action::store, r};
        }));
        return done.existed;
    }
    bool remove(std::string_view key) {
        operation op(*domain_);
        return must(tree_->update(op, key, [&](const auto* old) {
            return decision{old ? decision::action::erase : decision::action::keep, 0};
        })).changed;
    }
    std::optional<std::string> get(std::string_view key) {
        operation op(*domain_);
        std::optional<std::string> out;
        tree_->get(op, key, [&](std::string_view v) { out = std::string(v); });
        return out;
    }
    /// All records, forward.
    std::vector<std::pair<std::string, std::string>> all() {
        operation op(*domain_);
        std::vector<std::pair<std::string, std::string>> out;
        tree_->scan(op, "", false, [&](std::string_view k, std::string_view v) {
            out.emplace_back(k, v);
            return true;
        });
        return out;
    }

   private:
    std::unique_ptr<region> region_;
    std::unique_ptr<domain> domain_;
    std::unique_ptr<heap<D>> heap_;
    std::unique_ptr<masstree<D>> tree_;
};

}  // namespace hf::test
