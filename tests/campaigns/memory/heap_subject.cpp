// Objects of a heap, in one list for each group. Its sweeper is collect(), which frees cycles.
#include <holdfast/heap.hpp>

#include "subject.hpp"
#include "support/must.hpp"

#include <utility>
#include <vector>

namespace hf::test {
namespace {

struct object {
    static constexpr std::string_view nv_name = "object";
    nv::ptr<object> next;
    nv::ptr<object> itself;  ///< a cycle, if the sweeper is to free it
    nv::ptr<nv::bytes<1000>> small;
    nv::ptr<nv::bytes<4000>> middle;
    nv::ptr<nv::bytes<12000>> large;
};

class heap_subject final : public subject {
   public:
    heap_subject(const std::filesystem::path& file, const setting& s)
        : makes_cycles_(s.by == freed_by::sweeper),
          file_(file),
          heap_(must(nv::heap<>::open(file, as(s)))) {
        for (unsigned group = 0; group < 3; ++group) {
            groups_.push_back(must(heap_.root<object>("group " + std::to_string(group))));
        }
    }

    bool add(unsigned group, unsigned /*number*/, std::size_t size) override {
        auto& first = groups_[group];
        const auto done = heap_.atomic([&](nv::tx<>& tx) {
            const auto made = tx.make<object>();
            if (size == 1000) made->small.set(tx, tx.make<nv::bytes<1000>>());
            if (size == 4000) made->middle.set(tx, tx.make<nv::bytes<4000>>());
            if (size == 12000) made->large.set(tx, tx.make<nv::bytes<12000>>());
            if (makes_cycles_ && group == 1) made->itself.set(tx, made);
            made->next.set(tx, first.get());
            first.set(tx, made);
        });
        if (!done && done.error().code != errc::no_space) {
            ADD_FAILURE() << done.error().to_string();
        }
        return done.has_value();
    }
    void free_group(unsigned group, numbers /*which*/) override {
        must(heap_.atomic([&](nv::tx<>& tx) { groups_[group].set(tx, nullptr); }));
    }
    void sweep() override {
        free_group(1, 0);
        must(heap_.collect());
    }
    void expect_group(unsigned, numbers, std::size_t) override {
        for (const std::string& v : must(heap_.check()).violations) ADD_FAILURE() << v;
    }
    /// A heap hands freed memory out at once.
    void end_epoch() override {}
    u64 region_bytes() override { return std::filesystem::file_size(file_); }

   private:
    static nv::heap_options as(const setting& s) {
        nv::heap_options o;
        o.region.initial_size = s.initial_size;
        o.region.max_size = s.max_size;
        o.region.medium = s.medium;
        o.epoch = std::chrono::microseconds(0);
        return o;
    }

    bool makes_cycles_;
    std::filesystem::path file_;
    nv::heap<> heap_;
    std::vector<nv::root<object>> groups_;
};

}  // namespace

std::unique_ptr<subject> make_heap_subject(const std::filesystem::path& file, const setting& s) {
    return std::make_unique<heap_subject>(file, s);
}

}  // namespace hf::test
