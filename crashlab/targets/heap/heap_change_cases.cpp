#include "crashlab/targets/heap/heap_change_cases.hpp"

#include <holdfast/heap.hpp>

#include "crashlab/runtime/file.hpp"
#include "heap/mend.hpp"
#include "heap/testing.hpp"

#include <memory>

namespace hf::lab {
namespace {

template <class T>
T had(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

std::unique_ptr<nv::heap<>> open_changed_heap() {
    nv::heap_options o;
    o.region.initial_size = u64{2} << 20;
    o.region.max_size = u64{60} << 20;
    o.region.flush = flush_policy::always;
    o.epoch = std::chrono::microseconds(0);
    return std::make_unique<nv::heap<>>(had(nv::heap<>::open(file_path, o)));
}

void abandon(std::unique_ptr<nv::heap<>>& heap) {
    if (heap) nv::heap_testing::abandon(*heap);
    heap.reset();
}

/// Requires a heap without damage in which all objects are in use.
void require_sound(nv::heap<>& heap, u64 objects) {
    const nv::heap_report report = had(heap.check());
    if (!report.ok()) throw violation("check says: " + report.violations.front());
    require(report.unreachable == 0, "objects are alive that nothing leads to");
    require(report.objects - report.proxies == objects, "there are more objects, or fewer");
}

// ----------------------------------------------------------------------------------------- upgrade

constexpr u64 upgraded_objects = 5;

struct old_page {
    static constexpr std::string_view nv_name = "page";
    nv::p<u64> number;
    nv::ptr<old_page> next;
    nv::weak<old_page> before;
};
struct new_page {
    static constexpr std::string_view nv_name = "page";
    nv::array<nv::p<u64>, 9> digits;
    nv::weak<new_page> before;
    nv::p<u64> twice;
    nv::ptr<new_page> next;
};
/// An object whose type does not change, with a pointer to one whose type does.
template <class P>
struct cover {
    static constexpr std::string_view nv_name = "cover";
    nv::array<nv::ptr<P>, 2> of;
};

void convert_page(nv::tx<>& tx, old_page& from, new_page& to) {
    to.twice.set(tx, 2 * from.number);
    to.next.set(tx, nv::upgraded<new_page>(from.next));
    to.before.set(tx, nv::upgraded<new_page>(from.before));
}

/// Pages 1 to 5, each with a weak pointer to the previous one; covers lead to the first and the
/// third.
void write_book(nv::heap<>& heap) {
    auto root = had(heap.root<cover<old_page>>("book"));
    had(heap.atomic([&](nv::tx<>& tx) {
        auto book = tx.make<cover<old_page>>();
        root.set(tx, book);
        auto page = tx.make<old_page>(upgraded_objects);
        for (u64 number = upgraded_objects - 1; number > 0; --number) {
            auto before = tx.make<old_page>(number, page);
            page->before.set(tx, before);
            page = before;
            if (number == 3) book->of[1].set(tx, page);
        }
        book->of[0].set(tx, page);
    }));
}

void read_book(nv::heap<>& heap) {
    auto root = had(heap.root<cover<new_page>>("book"));
    had(heap.read([&](nv::tx<>&) {
        u64 number = 0;
        auto before = root->of[0].get();
        for (auto page = root->of[0].get(); page; page = page->next) {
            ++number;
            require(page->twice == 2 * number, "an object was not converted, or twice");
            const auto weak = page->before.get();
            require(number == 1 ? !weak : weak == before, "a weak pointer has not followed");
            require(number != 3 || root->of[1].get() == page, "a pointer has not followed");
            before = page;
        }
        require(number == upgraded_objects, "objects are lost");
    }));
}

u64 convert_all(nv::heap<>& heap) { return had(heap.upgrade<old_page, new_page>(convert_page)); }

class heap_of_new final : public survivor {
   public:
    explicit heap_of_new(const promised& all) : heap_(open_changed_heap()) {
        const u64 converted = convert_all(*heap_);
        require(converted == 0 || !all.has_returned(1), "an upgrade had returned, and is not done");
    }
    void crash() override { abandon(heap_); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<heap_of_new>(all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { read_book(*heap_); }
    void inspect() override {
        read_book(*heap_);
        require_sound(*heap_, upgraded_objects + 1);
    }

   private:
    std::unique_ptr<nv::heap<>> heap_;
};

class heap_of_old final : public target {
   public:
    void prepare() override {
        heap_ = open_changed_heap();
        write_book(*heap_);
        had(heap_->close());
        heap_ = open_changed_heap();
    }
    void run() override {
        begin_operation(1);
        convert_all(*heap_);
        end_operation(1);
    }
    void crash() override { abandon(heap_); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<heap_of_new>(all);
    }

   private:
    std::unique_ptr<nv::heap<>> heap_;
};

// ------------------------------------------------------------------------------------------ repair

struct link {
    static constexpr std::string_view nv_name = "link";
    nv::p<u64> number;
    nv::ptr<link> next;
};

constexpr u64 mended_objects = 3;
constexpr nv::mend_options mend_everything{.cut_pointers = true, .collect = true};

u64 state_at(u64 object) { return object - nv::header_bytes; }

/// A chain of three objects, the first with a count that is too high, the last with a dangling
/// pointer; two unreachable objects that refer to each other; and one that lost its count.
void make_damaged(nv::heap<>& heap) {
    auto head = had(heap.root<link>("chain"));
    auto other = had(heap.root<link>("other"));
    had(heap.atomic([&](nv::tx<>& tx) {
        head.set(tx, tx.make<link>(1, tx.make<link>(2, tx.make<link>(3))));
        auto one = tx.make<link>(10);
        auto two = tx.make<link>(11, one);
        one->next.set(tx, two);
        other.set(tx, tx.make<link>(12));
    }));
    region& file = nv::heap_testing::inner(heap).file();
    u64 first = 0;
    u64 last = 0;
    u64 lost = 0;
    had(heap.read([&](nv::tx<>&) {
        first = file.offset_of(head.get().address());
        last = file.offset_of(head->next->next.get().address());
        lost = file.offset_of(other.get().address());
    }));
    const auto write = [&](u64 at, u64 value) { *file.at<u64>(at) = value; };
    nv::state_word s = nv::state_word::unpack(*file.at<u64>(state_at(first)));
    s.count += 1;
    write(state_at(first), s.pack());
    write(last + offsetof(link, next), last + 16);
    s = nv::state_word::unpack(*file.at<u64>(state_at(lost)));
    s.count = 0;
    write(state_at(lost), s.pack());
}

/// The final contents of the chain and of the other root.
void read_chain(nv::heap<>& heap) {
    auto head = had(heap.root<link>("chain"));
    had(heap.read([&](nv::tx<>&) {
        u64 number = 0;
        for (auto l = head.get(); l; l = l->next) require(l->number == ++number, "it is another");
        require(number == mended_objects, "objects are lost");
    }));
}

class mended_heap final : public survivor {
   public:
    explicit mended_heap(const promised& all) {
        const nv::mend_tally t = had(nv::mend_heap(file_path, mend_everything));
        const u64 mended =
            t.counts + t.lost + t.listed + t.proxies + t.pointers + t.dead + t.cycles;
        require(mended == 0 || !all.has_returned(1), "a repair had returned, and is not done");
        heap_ = open_changed_heap();
    }
    void crash() override { abandon(heap_); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<mended_heap>(all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { read_chain(*heap_); }
    void inspect() override {
        read_chain(*heap_);
        require_sound(*heap_, mended_objects + 1);
    }

   private:
    std::unique_ptr<nv::heap<>> heap_;
};

class damaged_heap final : public target {
   public:
    void prepare() override {
        auto heap = open_changed_heap();
        make_damaged(*heap);
        abandon(heap);
    }
    void run() override {
        begin_operation(1);
        had(nv::mend_heap(file_path, mend_everything));
        end_operation(1);
    }
    void crash() override {}
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<mended_heap>(all);
    }
};

constexpr std::string_view point_of_change =
    "transaction T1: a redo record is durable before its words are in place";

}  // namespace

target_description heap_upgrade_case() {
    return {"transaction.heap.upgrade",
            "objects",
            "all objects of a type get another layout",
            [](u64) { return std::make_unique<heap_of_old>(); },
            {point_of_change}};
}

target_description heap_repair_case() {
    return {"transaction.heap.repair",
            "objects",
            "counts, pointers and cycles are mended",
            [](u64) { return std::make_unique<damaged_heap>(); },
            {point_of_change}};
}

}  // namespace hf::lab
