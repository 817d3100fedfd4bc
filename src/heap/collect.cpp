// heap/collect.cpp: frees objects that are reachable only from themselves.
//
// Reference counting never frees a cycle. Objects that the check cannot reach are taken apart:
// their pointers are set to null, by small transactions, and then they are destroyed as usual, with
// nv_destroy(). So a crash in the middle leaves a valid heap, with less garbage.
#include "heap/check.hpp"
#include "heap/core.hpp"

namespace hf::nv::detail {
namespace {

/// Number of pointers set to null in one transaction.
constexpr u64 at_once = 4096;

class garbage {
   public:
    garbage(held_table& refs, const heap_facts& facts) : refs_(refs) {
        for (const heap_facts::object& o : facts.objects) {
            if (o.reachable || o.state.type == proxy_type) continue;
            all_.push_back(refs_.hold(o.offset, false));  // detects whether it has died since
        }
    }
    garbage(const garbage&) = delete;
    garbage& operator=(const garbage&) = delete;
    ~garbage() {
        for (held_object* h : all_) refs_.give_up(h);
    }
    [[nodiscard]] u64 size() const noexcept { return all_.size(); }
    [[nodiscard]] const held_object& operator[](u64 i) const noexcept { return *all_[i]; }

   private:
    held_table& refs_;
    std::vector<held_object*> all_;
};

}  // namespace

result<heap_report> core::check() {
    const std::vector<u64> held = refs_->all();
    auto facts = heap_reader(file(), control_, held).read();
    if (!facts) return tl::unexpected(facts.error());
    return std::move(facts->report);
}

result<u64> core::collect() {
    const std::vector<u64> held = refs_->all();
    auto facts = heap_reader(file(), control_, held).read();
    if (!facts) return tl::unexpected(facts.error());
    if (!facts->report.ok()) {
        return failure({errc::violation, "collect", file().path().string(),
                        facts->report.violations.front(), "run holdfast check"});
    }
    const garbage found(*refs_, *facts);
    u64 next = 0;
    u64 element = 0;
    while (next < found.size()) {
        u64 here = next;
        u64 from = element;
        auto done = run([&](attempt& a) {
            here = next;
            from = element;
            for (u64 cut = 0; here < found.size() && cut < at_once;) {
                const held_object& h = found[here];
                if (h.state.load(std::memory_order_acquire) == held::gone) {
                    ++here;
                    from = 0;
                    continue;
                }
                const u64 end = a.cut_pointers(h.offset, from, at_once);
                cut += at_once / 64 + (end - from);
                from = end;
                if (!a.has_elements(h.offset, end)) {
                    ++here;
                    from = 0;
                }
            }
        });
        if (!done) return tl::unexpected(done.error());
        next = here;
        element = from;
    }
    if (auto ok = tidy_up(); !ok) return tl::unexpected(ok.error());
    return facts->report.unreachable;
}

}  // namespace hf::nv::detail
