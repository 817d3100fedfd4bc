// Containers that widen: to half of their heap, with short commit records, and with every pointer
// and count as before.
#include <holdfast/nv/unordered_map.hpp>
#include <holdfast/nv/vector.hpp>

#include "heap_of_nodes.hpp"

#include <atomic>
#include <optional>
#include <thread>

namespace hf::test {
namespace {

struct pair_of_fields {
    nv::p<u64> number;
    nv::ptr<node> to;
};

struct wide {
    static constexpr std::string_view nv_name = "wide";
    nv::vector<nv::p<u64>> numbers;
    nv::vector<nv::ptr<node>> nodes;
    nv::vector<pair_of_fields> pairs;
    nv::unordered_map<u64, nv::p<u64>> table;
    nv::unordered_map<u64, nv::ptr<node>> table_of_nodes;
    nv::string text;
};

struct setting {
    nv::engine engine;
    medium_kind medium;
};

class widening : public on_tmpfs, public ::testing::WithParamInterface<setting> {
   protected:
    static constexpr u64 heap_bytes = u64{8} << 20;
    static constexpr u64 at_once = 512;  // additions in one transaction

    widening() { reopen(); }
    void reopen() {
        all.reset();
        if (heap) must(heap->close());
        nv::heap_options o = small_heap();
        o.region.initial_size = heap_bytes;
        o.region.max_size = heap_bytes;
        o.region.medium = GetParam().medium;
        o.engine = GetParam().engine;
        heap.emplace(open_heap(file, o));
        all.emplace(must(heap->root<wide>("all")));
        must(heap->atomic([&](nv::tx<>& tx) {
            if (!all->get()) all->set(tx, tx.make<wide>());
        }));
    }
    /// Calls add(tx, i) for i = 0, 1, ... until the heap is full, or `most` times; returns how
    /// often.
    template <class F>
    u64 fill(u64 most, F add) {
        u64 i = 0;
        for (u64 step = at_once; i < most;) {
            const u64 end = std::min(i + step, most);
            const auto done = heap->atomic([&](nv::tx<>& tx) {
                for (u64 n = i; n < end; ++n) add(tx, n);
            });
            if (done) {
                i = end;
                continue;
            }
            EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            if (step == 1) break;
            step = 1;  // the last ones one by one
        }
        return i;
    }
    /// The least part that one array can become, in percent of the heap. Of so small a heap the
    /// engine shadow keeps a 16th for second slots.
    static u64 least_percent() { return GetParam().engine == nv::engine::shadow ? 42 : 45; }

    std::optional<nv::heap<>> heap;
    std::optional<nv::root<wide>> all;
};

TEST_P(widening, of_a_vector_of_numbers_ends_at_half_of_the_heap) {
    const u64 n = fill(~u64{0}, [&](nv::tx<>& tx, u64 i) { (*all)->numbers.push_back(tx, i * 3); });
    EXPECT_GE(n * 8, heap_bytes * least_percent() / 100);
    reopen();
    must(heap->read([&](nv::tx<>&) {
        ASSERT_EQ((*all)->numbers.size(), n);
        for (u64 i = 0; i < n; ++i) ASSERT_EQ((*all)->numbers[i].get(), i * 3);
    }));
    EXPECT_EQ(sound(*heap).objects, 2U) << "the root's object and one array";
}

TEST_P(widening, of_a_vector_of_pointers_keeps_every_count) {
    const u64 n = fill(~u64{0}, [&](nv::tx<>& tx, u64 i) {
        (*all)->nodes.push_back(tx, tx.make<node>(static_cast<int>(i)));
    });
    EXPECT_GE(n * (8 + 32), heap_bytes * 60 / 100) << "a pointer and an object each";
    must(heap->atomic([&](nv::tx<>& tx) {
        ASSERT_EQ((*all)->nodes.size(), n);
        for (u64 i = 0; i < n; ++i) {
            ASSERT_EQ((*all)->nodes[i]->value.get(), static_cast<int>(i));
        }
        (*all)->nodes.pop_back(tx);
    }));
    EXPECT_EQ(sound(*heap).objects, n - 1 + 2);
    must(heap->atomic([&](nv::tx<>& tx) { (*all)->nodes.clear(tx); }));
    EXPECT_EQ(sound(*heap).objects, 1U) << "what the pointers led to is freed with the last array";
}

TEST_P(widening, of_a_table_of_numbers_ends_at_half_of_the_heap) {
    const u64 n =
        fill(~u64{0}, [&](nv::tx<>& tx, u64 i) { (*all)->table.insert_or_assign(tx, i, i * 5); });
    EXPECT_GE(n * 16, heap_bytes * least_percent() / 100);
    reopen();
    must(heap->read([&](nv::tx<>&) {
        ASSERT_EQ((*all)->table.size(), n);
        for (u64 i = 0; i < n; ++i) ASSERT_EQ((*all)->table.find(i)->value.get(), i * 5) << i;
        ASSERT_FALSE((*all)->table.contains(n));
    }));
    (void)sound(*heap);
}

TEST_P(widening, of_a_table_of_pointers_keeps_every_count) {
    const u64 n = fill(~u64{0}, [&](nv::tx<>& tx, u64 i) {
        (*all)->table_of_nodes.try_emplace(tx, i).first->value.set(
            tx, tx.make<node>(static_cast<int>(i)));
    });
    EXPECT_GE(n * (16 + 32), heap_bytes * 60 / 100) << "an entry and an object each";
    must(heap->read([&](nv::tx<>&) {
        for (u64 i = 0; i < n; ++i) {
            ASSERT_EQ((*all)->table_of_nodes.find(i)->value->value.get(), static_cast<int>(i));
        }
    }));
    (void)sound(*heap);
    constexpr u64 erased_at_once = 4;  // the engine shadow has few second slots in a small heap
    for (u64 i = 0; i < n; i += erased_at_once) {
        must(heap->atomic([&](nv::tx<>& tx) {
            for (u64 k = i; k < std::min(i + erased_at_once, n); ++k) {
                ASSERT_TRUE((*all)->table_of_nodes.erase(tx, k));
            }
        }));
    }
    EXPECT_LE(sound(*heap).objects, 2U) << "the root's object and the table";
    EXPECT_EQ(must(heap->collect()), 0U);
}

TEST_P(widening, of_a_vector_of_structs_and_of_a_string_keeps_their_contents) {
    constexpr u64 n = 3000;
    fill(n, [&](nv::tx<>& tx, u64 i) {
        pair_of_fields& added = (*all)->pairs.append(tx);
        added.number.set(tx, i);
        added.to.set(tx, tx.make<node>(static_cast<int>(i)));
        (*all)->text.append(tx, std::to_string(i % 10));
    });
    must(heap->read([&](nv::tx<>&) {
        const std::string text = (*all)->text;
        ASSERT_EQ(text.size(), n);
        for (u64 i = 0; i < n; ++i) {
            ASSERT_EQ((*all)->pairs[i].number.get(), i);
            ASSERT_EQ((*all)->pairs[i].to->value.get(), static_cast<int>(i));
            ASSERT_EQ(text[i], static_cast<char>('0' + i % 10));
        }
    }));
    (void)sound(*heap);
}

TEST_P(widening, that_is_rolled_back_leaves_the_old_arrays) {
    const auto add = [&](nv::tx<>& tx, u64 i) {
        const auto made = tx.make<node>(static_cast<int>(i));
        (*all)->nodes.push_back(tx, made);
        (*all)->table_of_nodes.try_emplace(tx, i).first->value.set(tx, made);
    };
    fill(700, add);
    EXPECT_EQ(heap->atomic([&](nv::tx<>& tx) {
                      for (u64 i = 700; i < 9000; ++i) add(tx, i);
                      tx.abort();
                  })
                  .error()
                  .code,
              errc::aborted);
    must(heap->read([&](nv::tx<>&) {
        ASSERT_EQ((*all)->nodes.size(), 700U);
        ASSERT_EQ((*all)->table_of_nodes.size(), 700U);
        for (u64 i = 0; i < 700; ++i) {
            ASSERT_EQ((*all)->table_of_nodes.find(i)->value.get(), (*all)->nodes[i].get());
        }
    }));
    const u64 before = sound(*heap).objects;
    EXPECT_EQ(must(heap->collect()), 0U);
    EXPECT_EQ(sound(*heap).objects, before);
}

// A write to an old array between the copy and its commit would be lost.
TEST_P(widening, beside_a_thread_that_writes_loses_no_write) {
    constexpr u64 first = 64;
    fill(first, [&](nv::tx<>& tx, u64 i) {
        (*all)->numbers.push_back(tx, u64{0});
        (*all)->table.insert_or_assign(tx, i, u64{0});
    });
    std::atomic<bool> ends{false};
    u64 written = 0;
    std::thread writer([&] {
        while (!ends) {
            const auto done = heap->atomic([&](nv::tx<>& tx) {
                auto& number = (*all)->numbers[written % first];
                number.set(tx, number.get() + 1);
                auto& value = (*all)->table.find(written % first)->value;
                value.set(tx, value.get() + 1);
            });
            written += done ? 1 : 0;
            // In a heap that fills up, the engine shadow has few second slots, and refuses some.
            if (!done) {
                EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            }
        }
    });
    fill(60'000, [&](nv::tx<>& tx, u64 i) {
        (*all)->numbers.push_back(tx, u64{0});
        (*all)->table.insert_or_assign(tx, first + i, u64{0});
    });
    ends = true;
    writer.join();
    must(heap->read([&](nv::tx<>&) {
        u64 in_vector = 0;
        u64 in_table = 0;
        for (u64 i = 0; i < first; ++i) {
            in_vector += (*all)->numbers[i];
            in_table += (*all)->table.find(i)->value;
        }
        EXPECT_EQ(in_vector, written);
        EXPECT_EQ(in_table, written);
    }));
    (void)sound(*heap);
}

INSTANTIATE_TEST_SUITE_P(engines, widening,
                         ::testing::Values(setting{nv::engine::redo, medium_kind::shm},
                                           setting{nv::engine::undo, medium_kind::shm},
                                           setting{nv::engine::shadow, medium_kind::shm},
                                           setting{nv::engine::redo, medium_kind::file}),
                         [](const auto& p) {
                             const char* const engine = p.param.engine == nv::engine::redo ? "redo"
                                                        : p.param.engine == nv::engine::undo
                                                            ? "undo"
                                                            : "shadow";
                             return std::string(engine) +
                                    (p.param.medium == medium_kind::file ? "_on_disk" : "");
                         });

}  // namespace
}  // namespace hf::test
