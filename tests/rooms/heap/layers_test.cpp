// One program on all layers of the paper: what each keeps, and what it drops.
#include <holdfast/nv/layers.hpp>

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <thread>

namespace hf::test {
namespace {

template <class L>
struct list_program {
    using on = nv::on<L>;
    using tx = typename on::tx;
    struct element {
        typename on::template p<int> value;
        typename on::template ptr<element> next;
        typename on::template weak<element> other;
    };
    using cursor = typename on::template cursor<element>;
    using root = typename on::template root<element>;
};

template <class L>
class every_layer : public on_tmpfs {
   protected:
    using program = list_program<L>;
    using on = typename program::on;
    using tx = typename program::tx;

    static nv::heap_options options() {
        nv::heap_options o;
        o.region.initial_size = u64{2} << 20;
        o.region.max_size = u64{256} << 20;
        o.region.flush = flush_policy::always;
        o.epoch = std::chrono::microseconds(0);
        return o;
    }
    every_layer()
        : heap(must(on::open(file, u64{64} << 20, options()))),
          head(must(heap.template root<typename program::element>("head"))) {}
    void push(int value) {
        must(heap.atomic([&](tx& t) {
            head.set(t, t.template make<typename program::element>(value, head.get()));
        }));
    }
    void pop() {
        must(heap.atomic([&](tx& t) {
            const typename program::cursor first = head.get();
            head.set(t, first->next.get());
            on::template dispose<typename program::element>(t, first);
        }));
    }
    [[nodiscard]] std::vector<int> values() {
        return must(heap.read([&](tx&) {
            std::vector<int> all;
            for (auto e = head.get(); e; e = e->next.get()) all.push_back(e->value);
            return all;
        }));
    }
    [[nodiscard]] u64 objects() {
        const nv::heap_report r = must(heap.check());
        for (const std::string& v : r.violations) ADD_FAILURE() << v;
        return r.objects;
    }
    typename on::heap heap;
    typename program::root head;
};

using all_layers = testing::Types<nv::layer::base, nv::layer::safe, nv::layer::tx, nv::layer::c_tx,
                                  nv::layer::nodur>;
TYPED_TEST_SUITE(every_layer, all_layers);

TYPED_TEST(every_layer, a_list_is_what_was_pushed_and_not_popped) {
    for (const int i : {1, 2, 3, 4}) this->push(i);
    EXPECT_EQ(this->values(), (std::vector{4, 3, 2, 1}));
    this->pop();
    EXPECT_EQ(this->values(), (std::vector{3, 2, 1}));
}

TYPED_TEST(every_layer, a_transaction_reads_what_it_has_stored) {
    this->push(1);
    must(this->heap.atomic([&](typename TestFixture::tx& t) {
        for (int i = 0; i < 10; ++i) {
            this->head->value.set(t, this->head->value + 1);
        }
        EXPECT_EQ(this->head->value, 11);
    }));
    EXPECT_EQ(this->values(), std::vector{11});
}

TYPED_TEST(every_layer, objects_go_by_their_counts_or_by_hand) {
    for (const int i : {1, 2, 3}) this->push(i);
    this->pop();
    if constexpr (TestFixture::on::counts) {
        EXPECT_EQ(this->objects(), 2U);
        must(this->heap.atomic([&](typename TestFixture::tx& t) { this->head.set(t, nullptr); }));
        EXPECT_EQ(this->objects(), 0U);
    }
}

TYPED_TEST(every_layer, weak_pointers_become_null_where_there_are_counts) {
    this->push(1);
    this->push(2);
    must(this->heap.atomic([&](typename TestFixture::tx& t) {
        const auto last = this->head->next.get();
        last->other.set(t, this->head.get());
        EXPECT_EQ(last->other.get()->value, 2);
    }));
    must(this->heap.atomic(
        [&](typename TestFixture::tx& t) { this->head.set(t, this->head->next.get()); }));
    must(this->heap.read([&](typename TestFixture::tx&) {
        if constexpr (TestFixture::on::counts) {
            EXPECT_FALSE(this->head->other.get());
        }
    }));
}

TYPED_TEST(every_layer, references_keep_objects_alive_where_there_are_counts) {
    if constexpr (TestFixture::on::counts) {
        using element = typename TestFixture::program::element;
        this->push(7);
        typename TestFixture::on::template ref<element> kept;
        must(this->heap.atomic([&](typename TestFixture::tx& t) {
            kept = this->head.get();
            this->head.set(t, nullptr);
        }));
        EXPECT_EQ(this->objects(), 1U);
        EXPECT_EQ(
            must(this->heap.read([&](typename TestFixture::tx&) -> int { return kept->value; })),
            7);
        kept = nullptr;
        EXPECT_EQ(this->objects(), 0U);
    }
}

TYPED_TEST(every_layer, an_exception_undoes_all_where_there_are_transactions) {
    this->push(1);
    const auto failing = [&](typename TestFixture::tx& t) {
        this->head->value.set(t, 5);
        this->head.set(
            t, t.template make<typename TestFixture::program::element>(6, this->head.get()));
        throw std::runtime_error("on purpose");
    };
    EXPECT_THROW((void)this->heap.atomic(failing), std::runtime_error);
    using layer = typename TestFixture::on::layer;
    constexpr bool undoes =
        !std::is_same_v<layer, nv::layer::base> && !std::is_same_v<layer, nv::layer::safe>;
    EXPECT_EQ(this->values(), undoes ? std::vector{1} : (std::vector{6, 5}));
    if constexpr (TestFixture::on::counts) {
        EXPECT_EQ(this->objects(), undoes ? 1U : 2U);
    }
}

TYPED_TEST(every_layer, a_second_thread_is_refused_where_there_is_no_isolation) {
    this->push(1);
    result<void> there;
    std::thread([&] {
        there =
            this->heap.atomic([&](typename TestFixture::tx& t) { this->head->value.set(t, 2); });
    }).join();
    EXPECT_EQ(static_cast<bool>(there), TestFixture::on::has_threads);
    EXPECT_EQ(this->values(), std::vector{TestFixture::on::has_threads ? 2 : 1});
    if (!there) {
        EXPECT_EQ(there.error().code, errc::usage);
    }
}

TYPED_TEST(every_layer, what_was_there_is_there_after_a_new_opening) {
    using layer = typename TestFixture::on::layer;
    if constexpr (!std::is_same_v<layer, nv::layer::nodur>) {
        for (const int i : {1, 2, 3}) this->push(i);
        must(this->heap.close());
        this->heap = must(TestFixture::on::open(this->file, 0, this->options()));
        this->head = must(this->heap.template root<typename TestFixture::program::element>("head"));
        EXPECT_EQ(this->values(), (std::vector{3, 2, 1}));
        this->pop();
        EXPECT_EQ(this->values(), (std::vector{2, 1}));
    }
}

/// Fences of so many transactions that change a field.
template <class L>
u64 fences_of(const std::filesystem::path& file, unsigned transactions) {
    using program = list_program<L>;
    nv::heap_options o;
    o.region.flush = flush_policy::always;
    o.epoch = std::chrono::microseconds(0);
    auto heap = must(nv::on<L>::open(file, u64{64} << 20, o));
    auto head = must(heap.template root<typename program::element>("head"));
    must(heap.atomic([&](typename program::tx& t) {
        head.set(t, t.template make<typename program::element>(1, nullptr));
    }));
    const u64 before = thread_persist_counters().fences;
    for (unsigned i = 0; i < transactions; ++i) {
        must(heap.atomic([&](typename program::tx& t) { head->value.set(t, 2); }));
    }
    return thread_persist_counters().fences - before;
}

class layers : public on_tmpfs {};

TEST_F(layers, only_those_that_are_durable_at_once_fence) {
    EXPECT_EQ(fences_of<nv::layer::base>(dir / "base", 100), 0U);
    EXPECT_EQ(fences_of<nv::layer::safe>(dir / "safe", 100), 0U);
    EXPECT_EQ(fences_of<nv::layer::tx>(dir / "tx", 100), 100U);
    EXPECT_EQ(fences_of<nv::layer::c_tx>(dir / "c-tx", 100), 100U);
    EXPECT_EQ(fences_of<nv::layer::nodur>(dir / "nodur", 100), 0U);
}

TEST_F(layers, a_checkpoint_fences) {
    using on = nv::on<nv::layer::base>;
    nv::heap_options o;
    o.region.flush = flush_policy::always;
    o.epoch = std::chrono::microseconds(0);
    auto heap = must(on::open(file, 0, o));
    auto head = must(heap.root<list_program<nv::layer::base>::element>("head"));
    must(heap.atomic([&](on::tx& t) {
        head.set(t, t.make<list_program<nv::layer::base>::element>(1, nullptr));
    }));
    const u64 before = total_persist_counters().flushes;
    must(heap.checkpoint());
    EXPECT_GT(total_persist_counters().flushes, before);
}

TEST_F(layers, tx_refuses_reading_outside_of_a_transaction) {
    using on = nv::on<nv::layer::tx>;
    using element = list_program<nv::layer::tx>::element;
    auto heap = must(on::open(file, 0, {}));
    auto head = must(heap.root<element>("head"));
    EXPECT_DEATH((void)head.get(), "outside of a transaction");
    const auto done = heap.atomic([&](on::tx&) -> int { return head->value; });
    ASSERT_FALSE(done) << "a null pointer was followed";
    EXPECT_EQ(done.error().code, errc::usage);
}

TEST_F(layers, a_heap_of_one_is_no_heap_of_another) {
    using on_base = nv::on<nv::layer::base>;
    must(must(on_base::open(file, 0, {})).close());
    const auto other = nv::on<nv::layer::c_tx>::open(file, 0, {});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, errc::incompatible);
}

}  // namespace
}  // namespace hf::test
