#include "crashlab/targets/section/graph/graph_machines.hpp"

#include "crashlab/litmus/program.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/target.hpp"
#include "section/group.hpp"

#include <array>
#include <chrono>
#include <utility>

namespace hf::lab {
namespace {

using graph::access;
using graph::graph_mode;

constexpr auto stable_limit = std::chrono::milliseconds(1000);

template <class T>
T opened(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

graph::graph_options small_logs() {
    graph::graph_options g;
    g.log_bytes = layout::page_size;
    g.period = std::chrono::microseconds(0);
    return g;
}

class library_machine final : public graph_machine {
   public:
    library_machine() {
        region_options o;
        o.initial_size = 2 * layout::page_size;
        o.max_size = u64{60} << 20;
        o.flush = flush_policy::always;
        region_ = opened(region::open(file_path, o));
        if (region_->segments().empty()) opened(region_->grow(segment_kind::heap, 1, 0));
        mode_ = opened(graph_mode::open(*region_, small_logs()));
    }
    void begin(unsigned t) override { mode_->begin(lane(t)); }
    void end(unsigned t) override { mode_->end(lane(t)); }
    void acquired(unsigned t, const void* object, access how) override {
        mode_->acquired(lane(t), object, how);
    }
    void releasing(unsigned t, const void* object, access how) override {
        mode_->releasing(lane(t), object, how);
    }
    void store(unsigned t, unsigned variable, u64 value) override {
        mode_->before_store(lane(t), at(variable), sizeof(u64));
        __atomic_store_n(at(variable), value, __ATOMIC_RELEASE);
    }
    void step() override { static_cast<void>(mode_->step()); }
    void wait_stable(unsigned t) override { opened(mode_->wait_stable(lane(t), stable_limit)); }
    [[nodiscard]] u64 variable(unsigned n) const override { return *at(n); }
    void crash() override {
        // A session that ends in order would end its sections; this one's memory just goes.
        static_cast<void>(mode_.release());
        region_.reset();
    }

   private:
    /// Two variables a line.
    [[nodiscard]] u64* at(unsigned n) const {
        return region_->at<u64>(layout::page_size + (n / 2) * line_size + (n % 2) * 8);
    }
    graph::lane_state& lane(unsigned t) { return *opened(mode_->attach(t + 1)); }

    std::unique_ptr<region> region_;
    std::unique_ptr<graph_mode> mode_;
};

class group_machine final : public graph_machine {
   public:
    explicit group_machine(section::group_mode mode = section::group_mode::graph)
        : threads_(std::make_unique<section::thread_table>()) {
        for (auto& r : records_) r = &threads_->claim();
        section::group_options o;
        o.announced = true;
        o.bytes = u64{1} << 20;
        o.max_bytes = u64{60} << 20;
        o.flush = flush_policy::always;
        o.mode = mode;
        o.graph = small_logs();
        group_ = opened(section::group::open(file_path, o, *records_[0]));
        root_ = static_cast<root*>(first_root().value);
        if (root_ == nullptr) lay_root();
    }
    void begin(unsigned t) override { group_->graph()->begin(*records_[t]); }
    void end(unsigned t) override { group_->graph()->end(*records_[t]); }
    void acquired(unsigned t, const void* object, access how) override {
        group_->graph()->acquired(*records_[t], object, how);
    }
    void releasing(unsigned t, const void* object, access how) override {
        group_->graph()->releasing(*records_[t], object, how);
    }
    void store(unsigned t, unsigned variable, u64 value) override {
        section::change by = group_->change_by(*records_[t]);
        by.announce(at(variable), sizeof(u64));
        __atomic_store_n(at(variable), value, __ATOMIC_RELEASE);
    }
    void step() override { static_cast<void>(group_->graph()->step()); }
    void wait_stable(unsigned t) override {
        opened(group_->graph()->wait_stable(*records_[t], stable_limit));
    }
    [[nodiscard]] u64 variable(unsigned n) const override { return *at(n); }
    void audit() const override {
        require(group_->memory().allocated_bytes() == section::class_bytes(root_class),
                "the heap has other blocks than the root");
    }
    /// After epoch mode: the file is clean.
    void close() {
        require(group_->cut(*threads_), "a cut on persistent memory is refused");
        opened(group_->close());
    }
    void crash() override {
        group_->forget_graph();
        group_.reset();
    }

   private:
    struct root {
        alignas(line_size) std::array<u64, 8> words[litmus::max_variables / 2];
    };
    static constexpr unsigned root_class = section::class_of(sizeof(root));

    [[nodiscard]] section::root_entry& first_root() { return group_->table().regions[0].roots[0]; }
    [[nodiscard]] u64* at(unsigned n) const { return &root_->words[n / 2][n % 2]; }
    void lay_root() {
        section::change by = group_->change_by(*records_[0]);
        const section::own_section all(by);
        root_ = static_cast<root*>(
            opened(group_->memory().allocate_aligned(by, 0, sizeof(root), line_size)));
        by.zero(root_, sizeof *root_);
        by.copy(group_->table().regions[0].name, "lab", 4);
        by.copy(first_root().name, "root", 5);
        by.store(first_root().value, root_);
    }

    std::unique_ptr<section::thread_table> threads_;
    std::array<section::thread_record*, graph_threads> records_{};
    std::unique_ptr<section::group> group_;
    root* root_ = nullptr;
};

}  // namespace

std::unique_ptr<graph_machine> open_graph_library() { return std::make_unique<library_machine>(); }
std::unique_ptr<graph_machine> open_graph_group() { return std::make_unique<group_machine>(); }

void make_closed_epoch_group() { group_machine(section::group_mode::epoch).close(); }

}  // namespace hf::lab
