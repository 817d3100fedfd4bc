#include "engines.hpp"
#include "persist/counters.hpp"
#include "region_of_words.hpp"
#include "support/full_disk.hpp"
#include "transaction/ownership.hpp"

#include <array>
#include <string>
#include <vector>

namespace hf::test {
namespace {

class commit_of : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {
   protected:
    [[nodiscard]] std::unique_ptr<region_of_words> open() {
        region_of_words::how h;
        h.engine = GetParam();
        return std::make_unique<region_of_words>(file, h);
    }
};

TEST_P(commit_of, what_was_stored_is_seen_by_the_transaction_at_once_and_by_others_at_its_end) {
    auto r = open();
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(3), 7);
        EXPECT_EQ(t.load(r->word(3)), 7U);
        EXPECT_EQ(t.load(r->word(4)), 0U);
        EXPECT_EQ(r->now(3), 0U);
    }));
    EXPECT_EQ(r->now(3), 7U);
}

TEST_P(commit_of, words_of_all_sizes_keep_their_neighbours) {
    auto r = open();
    auto* const bytes = reinterpret_cast<u8*>(r->word(8));
    must(r->all().atomic([&](transaction& t) { t.store(r->word(8), 0x1122334455667788); }));
    // Of other lines: what copies had in them before is in no word.
    must(r->all().atomic([&](transaction& t) {
        for (u64 i = 512; i < 640; ++i) t.store(r->word(i), ~u64{0});
    }));
    must(r->all().atomic([&](transaction& t) {
        t.store(bytes + 1, u8{0xaa});
        t.store(reinterpret_cast<u16*>(bytes + 2), u16{0xbbbb});
        t.store(reinterpret_cast<u32*>(bytes + 4), u32{0xcccccccc});
        EXPECT_EQ(t.load(r->word(8)), 0xccccccccbbbbaa88U);
        EXPECT_EQ(t.load(bytes + 1), 0xaa);
        EXPECT_EQ(t.load(reinterpret_cast<u16*>(bytes + 2)), 0xbbbb);
        EXPECT_EQ(t.load(bytes), 0x88);
    }));
    EXPECT_EQ(r->now(8), 0xccccccccbbbbaa88U);
}

TEST_P(commit_of, lines_that_share_an_ownership_record_are_changed_together) {
    const auto r = open();
    constexpr u64 apart = ownership::count * line_size;
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(apart + line_size); }));
    auto* const one = reinterpret_cast<u64*>(p);
    auto* const other = reinterpret_cast<u64*>(p + apart);
    unsigned runs = 0;
    must(r->all().atomic([&](transaction& t) {
        if (++runs > 1) transaction::abort();
        t.store(one, 1);
        t.store(other, 2);
        EXPECT_EQ(t.load(one), 1U);
        EXPECT_EQ(t.load(other), 2U);
    }));
    EXPECT_EQ(*one, 1U);
    EXPECT_EQ(*other, 2U);
}

TEST_P(commit_of, the_result_comes_out) {
    auto r = open();
    EXPECT_EQ(must(r->all().atomic([&](transaction& t) { return t.load(r->word(0)) + 5; })), 5U);
    const auto text = r->all().read([](transaction&) { return std::string("as it is"); });
    EXPECT_EQ(must(text), "as it is");
}

TEST_P(commit_of, each_of_many_lines_has_one_copy_that_is_found_again) {
    auto r = open();
    constexpr u64 lines = region_of_words::words / 8;  // the table of copies is widened twice
    must(r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < lines; ++i) t.store(r->word(8 * i), i + 1);
        for (u64 i = 0; i < lines; ++i) t.store(r->word(8 * i + 1), i + 2);
        for (u64 i = 0; i < lines; ++i) EXPECT_EQ(t.load(r->word(8 * i)), i + 1);
    }));
    for (u64 i = 0; i < lines; ++i) {
        EXPECT_EQ(r->now(8 * i), i + 1);
        EXPECT_EQ(r->now(8 * i + 1), i + 2);
    }
}

TEST_P(commit_of, an_abort_leaves_nothing_and_says_so) {
    auto r = open();
    const auto done = r->all().atomic([&](transaction& t) {
        t.store(r->word(1), 1);
        static_cast<void>(t.allocate(100));
        transaction::abort();
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::aborted);
    EXPECT_EQ(r->now(1), 0U);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(1), 2); }));
    EXPECT_EQ(r->now(1), 2U);
}

TEST_P(commit_of, an_exception_leaves_nothing_and_comes_out) {
    auto r = open();
    const auto fails = [&] {
        static_cast<void>(r->all().atomic([&](transaction& t) {
            t.store(r->word(1), 1);
            throw std::string("of the user's");
        }));
    };
    EXPECT_THROW(fails(), std::string);
    EXPECT_EQ(r->now(1), 0U);
    EXPECT_EQ(transaction::running(), nullptr);
}

TEST_P(commit_of, a_retry_begins_anew) {
    auto r = open();
    int tries = 0;
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(1), t.load(r->word(1)) + 1);
        if (++tries < 3) transaction::retry();
    }));
    EXPECT_EQ(tries, 3);
    EXPECT_EQ(r->now(1), 1U);
}

TEST_P(commit_of, a_nested_one_is_a_part_of_the_outer) {
    auto r = open();
    const auto done = r->all().atomic([&](transaction& t) {
        t.store(r->word(1), 1);
        must(r->all().atomic([&](transaction& inner) {
            EXPECT_EQ(&inner, &t);
            inner.store(r->word(2), t.load(r->word(1)) + 1);
        }));
        EXPECT_EQ(r->now(2), 0U);
        transaction::abort();
    });
    EXPECT_FALSE(done);
    EXPECT_EQ(r->now(2), 0U);
}

TEST_P(commit_of, where_an_exception_leaves_a_nested_one_the_outer_cannot_commit) {
    auto r = open();
    const auto done = r->all().atomic([&](transaction& t) {
        t.store(r->word(1), 1);
        try {
            static_cast<void>(r->all().atomic([&](transaction& inner) {
                inner.store(r->word(2), 1);
                throw 5;
            }));
        } catch (int) {  // but half of it has been done
        }
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::aborted);
    EXPECT_EQ(r->now(1), 0U);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(1), 2); }));
    EXPECT_EQ(r->now(1), 2U) << "the next one can";
}

TEST_P(commit_of, one_that_reads_may_not_store_nor_allocate) {
    auto r = open();
    const auto stores = r->all().read([&](transaction& t) { t.store(r->word(1), 1); });
    ASSERT_FALSE(stores);
    EXPECT_EQ(stores.error().code, errc::usage);
    const auto allocates =
        r->all().read([&](transaction& t) { static_cast<void>(t.allocate(64)); });
    ASSERT_FALSE(allocates);
    EXPECT_EQ(allocates.error().code, errc::usage);
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(64); }));
    const auto releases = r->all().read([&](transaction& t) { t.release(p, 64); });
    ASSERT_FALSE(releases);
    EXPECT_EQ(releases.error().code, errc::usage);
    must(r->all().atomic([&](transaction& t) { t.release(p, 64); }));
}

TEST_P(commit_of, memory_of_another_heap_is_refused) {
    auto r = open();
    region_of_words other(dir / "other.hf");
    const auto done = r->all().atomic([&](transaction& t) { t.store(other.word(1), 1); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::usage);
    const auto nested = r->all().atomic([&](transaction&) {
        const auto inner = other.all().atomic([&](transaction& t) { t.store(other.word(1), 1); });
        ASSERT_FALSE(inner);
        EXPECT_EQ(inner.error().code, errc::usage);
    });
    EXPECT_TRUE(nested);
    EXPECT_EQ(other.now(1), 0U);
}

TEST_P(commit_of, a_transaction_costs_so_many_fences_however_much_it_writes) {
    auto r = open();
    const u64 wanted = GetParam() == engine_kind::undo ? 3 : 1;
    // shadow_test.cpp has when it is two.
    const u64 at_most = GetParam() == engine_kind::shadow ? 2 : wanted;
    for (u64 n : {u64{1}, u64{16}, u64{500}}) {
        const persist_counters before = thread_persist_counters();
        must(r->all().atomic([&](transaction& t) {
            for (u64 i = 0; i < n; ++i) t.store(r->word(i), i + n);
        }));
        const u64 fences = thread_persist_counters().fences - before.fences;
        EXPECT_TRUE(wanted <= fences && fences <= at_most) << fences << " for " << n;
    }
}

TEST_P(commit_of, much_fresh_memory_costs_a_fence_more_where_it_is_not_logged) {
    auto r = open();
    const auto fences = [&](u64 bytes) {
        const u64 before = thread_persist_counters().fences;
        must(r->all().atomic(
            [&](transaction& t) { t.store(reinterpret_cast<u64*>(t.allocate(bytes)), 1); }));
        return thread_persist_counters().fences - before;
    };
    fences(256);  // a slab's first block
    fences(257);
    const bool undo = GetParam() == engine_kind::undo;
    EXPECT_EQ(fences(256), undo ? 3U : 1U);
    EXPECT_EQ(fences(257), undo ? 3U : 2U);
}

TEST_P(commit_of, what_happened_is_counted) {
    auto r = open();
    const transaction_statistics before = r->all().numbers();
    int tries = 0;
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(0), 1);
        if (++tries < 3) transaction::retry();
    }));
    must(r->all().atomic([&](transaction& t) { static_cast<void>(t.load(r->word(0))); }));
    const transaction_statistics after = r->all().numbers();
    EXPECT_EQ(after.commits - before.commits, 1U);
    EXPECT_EQ(after.conflicts - before.conflicts, 2U);
    EXPECT_EQ(after.records - before.records, 1U);
    EXPECT_GE(after.record_bytes - before.record_bytes, 56U);
}

TEST_P(commit_of, one_that_reads_costs_neither_flush_nor_fence) {
    auto r = open();
    const persist_counters before = thread_persist_counters();
    must(r->all().read([&](transaction& t) { static_cast<void>(t.load(r->word(1))); }));
    must(r->all().atomic([&](transaction& t) { static_cast<void>(t.load(r->word(1))); }));
    const persist_counters after = thread_persist_counters();
    EXPECT_EQ(after.fences, before.fences);
    EXPECT_EQ(after.flushes, before.flushes);
}

TEST_P(commit_of, bytes_are_loaded_stored_and_moved) {
    auto r = open();
    auto* const bytes = reinterpret_cast<char*>(r->word(16));
    const std::string text = "of any length, at any place";
    must(r->all().atomic([&](transaction& t) {
        t.store_bytes(bytes + 3, text.data(), text.size());
        std::string found(text.size(), ' ');
        t.load_bytes(bytes + 3, found.data(), found.size());
        EXPECT_EQ(found, text);
        t.move_bytes(bytes + 5, bytes + 3, text.size());
        t.load_bytes(bytes + 5, found.data(), found.size());
        EXPECT_EQ(found, text);
        t.move_bytes(bytes + 1, bytes + 5, text.size());
    }));
    EXPECT_EQ(std::string(bytes + 1, text.size()), text);
}

TEST_P(commit_of, whole_lines_and_words_of_them_are_stored_in_the_order_of_the_program) {
    auto r = open();
    constexpr u64 words = 64;
    std::vector<u64> long_piece(words);
    for (u64 i = 0; i < words; ++i) long_piece[i] = 100 + i;
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(11), 1);
        t.store_bytes(r->word(3), long_piece.data(), words * 8);  // neither begins nor ends a line
        t.store(r->word(20), 2);
        EXPECT_EQ(t.load(r->word(11)), 108U);
        EXPECT_EQ(t.load(r->word(20)), 2U);
        EXPECT_EQ(r->now(12), 0U) << "not before the commit";
    }));
    for (u64 i = 0; i < words + 6; ++i) {
        const bool is_in = i >= 3 && i < 3 + words;
        ASSERT_EQ(r->now(i), i == 20 ? 2 : is_in ? 97 + i : 0) << i;
    }
    const auto aborted = r->all().atomic([&](transaction& t) {
        t.store_bytes(r->word(0), long_piece.data(), words * 8);
        transaction::abort();
    });
    ASSERT_FALSE(aborted);
    EXPECT_EQ(r->now(8), 105U);
    crash(r);
    r = open();
    EXPECT_EQ(r->now(10), 107U);
    EXPECT_EQ(r->now(20), 2U);
}

TEST_P(commit_of, whole_lines_of_a_new_block_are_there_whether_it_is_the_newest_or_not) {
    auto r = open();
    const std::vector<u64> piece(32, 7);
    must(r->all().atomic([&](transaction& t) {
        std::byte* const one = t.allocate(256);
        t.store_bytes(one, piece.data(), 64);
        std::byte* const other = t.allocate(256);
        t.store_bytes(one + 64, piece.data(), 192);
        t.store_bytes(other, piece.data(), 256);
        EXPECT_EQ(t.load(reinterpret_cast<u64*>(one + 128)), 7U);
        EXPECT_EQ(t.load(reinterpret_cast<u64*>(other + 128)), 7U);
        t.store(r->word(0), r->up->file().offset_of(one));
        t.store(r->word(1), r->up->file().offset_of(other));
    }));
    crash(r);
    r = open();
    for (const u64 block : {r->now(0), r->now(1)}) {
        for (u64 i = 0; i < 32; ++i) ASSERT_EQ(r->up->file().at<u64>(block)[i], 7U) << i;
    }
}

TEST_P(commit_of, whole_lines_are_refused_where_words_are) {
    const auto r = open();
    alignas(line_size) std::array<std::byte, 128> elsewhere{};
    const auto store_to = [&](void* at) {
        return [&r, at](transaction& t) {
            const std::array<u64, 8> line{1};
            t.store_bytes(at, line.data(), line_size);
            static_cast<void>(r);
        };
    };
    const auto code_of = [](const auto& done) { return done ? errc::io : done.error().code; };
    std::byte* const base = r->up->file().base();
    EXPECT_EQ(code_of(r->all().read(store_to(r->word(0)))), errc::usage);
    EXPECT_EQ(code_of(r->all().atomic(store_to(elsewhere.data()))), errc::usage);
    EXPECT_EQ(code_of(r->all().atomic(store_to(base + 128))), errc::corrupt) << "the header";
    EXPECT_EQ(code_of(r->all().atomic(store_to(base + r->up->file().size()))), errc::corrupt);
    must(r->all().atomic(store_to(base + r->up->file().size() - line_size)));
}

TEST_P(commit_of, long_pieces_move_over_themselves) {
    auto r = open();
    std::vector<u64> model(200);
    must(r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < model.size(); ++i) t.store(r->word(i), model[i] = i * i);
        t.move_bytes(r->word(7), r->word(0), 8 * 180);
        std::move_backward(model.begin(), model.begin() + 180, model.begin() + 187);
        t.move_bytes(r->word(1), r->word(3), 8 * 190);
        std::move(model.begin() + 3, model.begin() + 193, model.begin() + 1);
    }));
    for (u64 i = 0; i < model.size(); ++i) EXPECT_EQ(r->now(i), model[i]) << i;
}

TEST_P(commit_of, what_is_freed_comes_back_when_its_epoch_has_ended) {
    auto r = open();
    std::byte* first = nullptr;
    must(r->all().atomic([&](transaction& t) { first = t.allocate(5'000); }));
    must(r->all().atomic([&](transaction& t) { t.release(first, 5'000); }));
    must(r->all().atomic([&](transaction& t) { EXPECT_NE(t.allocate(5'000), first); }));
    r->up->epochs().end_epoch();
    must(r->all().atomic([&](transaction& t) { EXPECT_EQ(t.allocate(5'000), first); }));
}

TEST_P(commit_of, a_full_heap_aborts_the_transaction_and_goes_on) {
    auto r = open();
    std::vector<std::byte*> taken;
    const auto full = r->all().atomic([&](transaction& t) {
        t.store(r->word(0), 9);
        for (int i = 0; i < 1'000; ++i) static_cast<void>(t.allocate(200'000));
    });
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, errc::no_space);
    EXPECT_EQ(r->now(0), 0U);
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(0), 1);
        static_cast<void>(t.allocate(200'000));
    }));
    EXPECT_EQ(r->now(0), 1U);
}

TEST_P(commit_of, a_heap_that_is_full_of_freed_blocks_gives_them_out) {
    auto r = open();
    for (int i = 0; i < 100; ++i) {
        std::byte* p = nullptr;
        must(r->all().atomic([&](transaction& t) { p = t.allocate(20'000'000); }));
        must(r->all().atomic([&](transaction& t) { t.release(p, 20'000'000); }));
    }
}

TEST_P(commit_of, one_larger_than_what_is_kept_for_logs_is_refused) {
    auto r = open();
    const u64 bytes = u64{8} << 20;  // of 64 MiB a 256th is kept
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(bytes); }));
    const auto done = r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < bytes / 8; ++i) t.store(reinterpret_cast<u64*>(p) + i, 1);
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::no_space);
    must(r->all().atomic([&](transaction& t) { t.store(reinterpret_cast<u64*>(p), 1); }));
}

TEST_P(commit_of, a_full_disk_where_the_log_must_grow_aborts_the_transaction_and_goes_on) {
    // Its records hold no data: they fit.
    if (GetParam() == engine_kind::shadow) return;
    auto r = open();
    constexpr u64 bytes = 100'000;  // more than the log's first page takes
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(bytes); }));
    const auto store_all = [&] {
        return r->all().atomic([&](transaction& t) {
            for (u64 i = 0; i < bytes / 8; ++i) t.store(reinterpret_cast<u64*>(p) + i, i + 1);
        });
    };
    {
        const full_disk full;
        const auto done = store_all();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::no_space);
    }
    must(store_all());
    EXPECT_EQ(*(reinterpret_cast<u64*>(p) + bytes / 8 - 1), bytes / 8);
}

TEST_P(commit_of, one_whose_record_finds_no_room_leaves_the_log_to_the_next) {
    // Its records hold no data: they fit.
    if (GetParam() == engine_kind::shadow) return;
    auto r = open();
    constexpr u64 bytes = 100'000;
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(bytes); }));
    r->up->epochs().end_epoch();  // no log has a record that another end would make room of
    const u64 before = r->up->epochs().current_epoch();
    const full_disk full;
    const auto done = r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < bytes / 8; ++i) t.store(reinterpret_cast<u64*>(p) + i, i + 1);
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::no_space);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(0), 1); }));
    EXPECT_EQ(r->now(0), 1U);
    EXPECT_EQ(r->up->epochs().current_epoch(), before);
}

TEST_P(commit_of, a_full_log_ends_the_epoch) {
    auto r = open();
    const u64 before = r->up->epochs().current_epoch();
    for (u64 i = 0; i < 20'000; ++i) {
        must(r->all().atomic([&](transaction& t) { t.store(r->word(i % 8), i); }));
    }
    EXPECT_GT(r->up->epochs().current_epoch(), before);
    u64 logs = 0;
    for (const segment& s : r->up->file().segments()) logs += s.kind == segment_kind::log ? 1 : 0;
    EXPECT_EQ(logs, 1U) << "before it takes more of the region";
}

TEST_P(commit_of, a_log_that_cannot_grow_gets_room_with_the_end_of_the_epoch) {
    // Its records hold no data: they fit.
    if (GetParam() == engine_kind::shadow) return;
    auto r = open();
    constexpr u64 bytes = 32'000;  // a record of them takes more than half of the log's first page
    std::byte* p = nullptr;
    must(r->all().atomic([&](transaction& t) { p = t.allocate(bytes); }));
    const auto store_all = [&](u64 value) {
        return r->all().atomic([&](transaction& t) {
            for (u64 i = 0; i < bytes / 8; ++i) t.store(reinterpret_cast<u64*>(p) + i, value);
        });
    };
    must(store_all(1));
    const u64 before = r->up->epochs().current_epoch();
    const full_disk full;
    must(store_all(2));
    EXPECT_EQ(r->up->epochs().current_epoch(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(engines, commit_of, every_engine(), engine_name);

}  // namespace
}  // namespace hf::test
