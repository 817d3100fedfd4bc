// Objects, pointers between them, and what becomes of them when nothing leads to them any more.
#include "heap/testing.hpp"
#include "heap_of_nodes.hpp"

#include <functional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

class objects : public on_tmpfs {
   protected:
    objects() : heap(open_heap(file)), head(must(heap.root<node>("head"))) {}
    void push(int value) {
        must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, tx.make<node>(value, head.get())); }));
    }
    [[nodiscard]] std::vector<int> values() {
        return must(heap.read([&](nv::tx<>&) {
            std::vector<int> all;
            for (auto n = head.get(); n; n = n->next) all.push_back(n->value);
            return all;
        }));
    }
    void reopen() {
        must(heap.close());
        heap = open_heap(file);
        head = must(heap.root<node>("head"));
    }
    nv::heap<> heap;
    nv::root<node> head;
};

TEST_F(objects, a_list_is_there_after_a_new_opening) {
    for (int i : {1, 2, 3}) push(i);
    EXPECT_EQ(values(), (std::vector{3, 2, 1}));
    reopen();
    EXPECT_EQ(values(), (std::vector{3, 2, 1}));
    EXPECT_EQ(sound(heap).objects, 3U);
}

TEST_F(objects, what_nothing_leads_to_is_gone_with_the_transaction) {
    for (int i : {1, 2, 3}) push(i);
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, head->next); }));
    EXPECT_EQ(sound(heap).objects, 2U);
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, roots_are_found_by_name_in_this_session_and_the_next) {
    constexpr int count = 500;
    const auto name = [](int i) { return "root " + std::to_string(i); };
    for (const bool again : {false, true}) {
        if (again) reopen();
        for (int i = 0; i < count; ++i) {
            auto root = must(heap.root<node>(name(i)));
            const auto check = [&](nv::tx<>&) { EXPECT_TRUE(!root || root->value == i); };
            if (!again) {
                must(heap.atomic([&](nv::tx<>& tx) { root.set(tx, tx.make<node>(i)); }));
            }
            must(heap.read(check));
        }
        auto other = must(heap.root<node>(name(count + (again ? 1 : 0))));
        must(heap.read([&](nv::tx<>&) { EXPECT_FALSE(other); }));
        for (int i = count - 1; i >= 0; --i) {
            auto root = must(heap.root<node>(name(i)));
            must(heap.read([&](nv::tx<>&) { EXPECT_EQ(root->value, i); }));
        }
        sound(heap);
    }
}

TEST_F(objects, what_was_made_and_not_linked_leaves_no_trace) {
    must(heap.atomic([&](nv::tx<>& tx) {
        auto a = tx.make<node>(1, nullptr);
        (void)tx.make<node>(2, a);
    }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

struct wide_node {
    nv::ptr<wide_node> next;
    nv::bytes<120> apart;  // each has lines of its own
};

// Taken out of a list is an object whose pointer is another's by then: that one has gained a
// pointer and lost one.
TEST_F(objects, what_has_as_many_pointers_to_it_as_before_is_not_stored_to) {
    constexpr std::size_t lists = 32;
    auto heads = must(heap.root<nv::ptr<wide_node>[]>("heads"));
    const auto bytes_to_cut = [&](bool are_followed) {
        must(heap.atomic([&](nv::tx<>& tx) {
            heads.set(tx, tx.make_array<nv::ptr<wide_node>[]>(lists));
            for (std::size_t i = 0; i < lists; ++i) {
                nv::cursor<wide_node> next;
                if (are_followed) next = tx.make<wide_node>();
                heads.get()[i].set(tx, tx.make<wide_node>(next));
            }
        }));
        const u64 before = heap.numbers().log_bytes;
        must(heap.atomic([&](nv::tx<>& tx) {
            for (std::size_t i = 0; i < lists; ++i) {
                auto& first = heads.get()[i];
                first.set(tx, first->next.get());
            }
        }));
        EXPECT_EQ(sound(heap).objects, are_followed ? lists + 1 : 1);
        return heap.numbers().log_bytes - before;
    };
    const u64 alone = bytes_to_cut(false);
    const u64 followed = bytes_to_cut(true);
    // The allocator's words may be some more; those of a line for each of them would be twice that.
    EXPECT_LT(followed, alone + 8 * lists);
}

// It gains a pointer to an object of another owner, which is destroyed only after it.
TEST_F(objects, counts_are_right_in_whatever_order_objects_lose_and_gain) {
    for (int i : {1, 2, 3, 4}) push(i);  // 4, 3, 2, 1
    must(heap.atomic([&](nv::tx<>& tx) {
        const nv::cursor<node> third = head->next->next.get();
        auto fresh = tx.make<node>(9, third);
        head.set(tx, fresh);           // 4 and 3 die, one by the other; 2 has lost and gained
        fresh->next.set(tx, nullptr);  // and lost again, with 1
        head.set(tx, tx.make<node>(8, fresh));
    }));
    EXPECT_EQ(values(), (std::vector{8, 9}));
    EXPECT_EQ(sound(heap).objects, 2U);
}

TEST_F(objects, an_aborted_transaction_leaves_no_trace) {
    push(1);
    const auto done = heap.atomic([&](nv::tx<>& tx) {
        head.set(tx, tx.make<node>(2, head.get()));
        tx.abort();
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::aborted);
    EXPECT_EQ(values(), std::vector{1});
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(objects, an_exception_ends_the_transaction_and_life_goes_on) {
    push(1);
    EXPECT_THROW((void)heap.atomic([&](nv::tx<>& tx) {
        head.set(tx, nullptr);
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    EXPECT_EQ(values(), std::vector{1});
    push(2);
    EXPECT_EQ(values(), (std::vector{2, 1}));
}

// An exception may refuse its destruction, after changes of others by the same transaction.
struct stubborn {
    static constexpr std::string_view nv_name = "stubborn";
    nv::p<int> value;
    static inline bool refuses = true;
    void nv_destroy(nv::tx<>&) {
        if (refuses) throw std::runtime_error("not yet");
    }
};

TEST_F(objects, a_death_that_is_refused_leaves_references_as_they_were) {
    auto last = must(heap.root<stubborn>("last"));
    auto orphans = must(heap.root<node>("orphan"));
    nv::ref<node> kept;
    nv::ref<node> orphan;
    nv::weak_ref<node> weak;
    push(7);
    must(heap.atomic([&](nv::tx<>& tx) {
        last.set(tx, tx.make<stubborn>(1));
        orphans.set(tx, tx.make<node>(8, tx.make<node>(9, nullptr)));
    }));
    must(heap.atomic([&](nv::tx<>& tx) {
        kept = head.get();
        orphan = orphans.get();
        weak = orphans->next.get();
        orphans.set(tx, nullptr);
    }));
    const auto expect_whole = [&] {
        const auto r = sound(heap);
        EXPECT_EQ(r.objects, 4U);
        EXPECT_EQ(r.orphans, 1U);
        EXPECT_EQ(values(), std::vector{7});
        must(heap.read([&](nv::tx<>&) {
            EXPECT_EQ(int{kept->value}, 7);
            EXPECT_EQ(int{orphan->value}, 8);
            ASSERT_TRUE(weak.get());
            EXPECT_EQ(int{weak.get()->value}, 9);
        }));
    };
    const std::function<void(nv::tx<>&)> changes[] = {
        [&](nv::tx<>& tx) { head.set(tx, nullptr); },          // becomes an orphan
        [&](nv::tx<>& tx) { head.set(tx, orphan); },           // is none any more; the other is
        [&](nv::tx<>& tx) { orphan->next.set(tx, nullptr); },  // a weak reference holds none
        [&](nv::tx<>& tx) { orphans.set(tx, orphan->next.get()); },  // nothing is different
        [&](nv::tx<>& tx) { orphans.set(tx, tx.make<node>(1)); }     // what is new goes
    };
    stubborn::refuses = true;
    for (unsigned round = 0; round < 3; ++round) {
        for (const auto& change : changes) {
            EXPECT_THROW(std::ignore = heap.atomic([&](nv::tx<>& tx) {
                change(tx);
                last.set(tx, nullptr);
            }),
                         std::runtime_error);
            expect_whole();
        }
    }
    stubborn::refuses = false;
    must(heap.atomic([&](nv::tx<>& tx) {
        head.set(tx, orphan);
        last.set(tx, nullptr);
    }));
    EXPECT_EQ(values(), (std::vector{8, 9}));
    EXPECT_EQ(sound(heap).orphans, 1U);
    kept = nullptr;
    orphan = nullptr;
    EXPECT_EQ(sound(heap).objects, 2U);
    reopen();
    EXPECT_EQ(values(), (std::vector{8, 9}));
    EXPECT_EQ(sound(heap).objects, 2U);
}

// Or each of some orphans would take a block of its own.
TEST_F(objects, slots_of_orphans_are_used_again_after_commits_and_aborts) {
    nv::detail::core& inner = nv::heap_testing::inner(heap);
    const auto blocks = [&] {
        u64 n = 0;
        for (u64 at = inner.control().orphans; at != 0; ++n) {
            at = inner.file().at<nv::orphan_block>(at)->next;
        }
        return n;
    };
    auto last = must(heap.root<stubborn>("last"));
    must(heap.atomic([&](nv::tx<>& tx) { last.set(tx, tx.make<stubborn>(1)); }));
    bool is_drained = false;  // of all slots but three
    for (const bool is_refused : {false, true, false}) {
        stubborn::refuses = is_refused;
        for (int i = 0; i < 6; ++i) {
            nv::ref<node> kept;
            push(i);
            must(heap.read([&](nv::tx<>&) { kept = head.get(); }));
            const auto drop = [&] {
                return heap.atomic([&](nv::tx<>& tx) {
                    head.set(tx, nullptr);
                    if (is_refused) last.set(tx, nullptr);
                });
            };
            if (is_refused) {
                EXPECT_THROW(std::ignore = drop(), std::runtime_error);
            } else {
                must(drop());
            }
            EXPECT_EQ(sound(heap).orphans, is_refused ? 0U : 1U);
            kept = nullptr;
            must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
            EXPECT_EQ(sound(heap).objects, 1U);
        }
        EXPECT_EQ(blocks(), 1U);
        if (std::exchange(is_drained, true)) continue;
        for (u32 left = nv::orphan_block::slots; left > 3; --left) {
            ASSERT_NE(inner.take_slot(), 0U) << left;
        }
    }
    stubborn::refuses = false;
}

TEST_F(objects, an_array_that_no_region_could_hold_is_refused) {
    auto many = must(heap.root<nv::ptr<node>[]>("many"));
    for (const u64 length : {~u64{0}, ~u64{0} / 8, (u64{1} << 43) + 1}) {
        const auto refused = heap.atomic(
            [&](nv::tx<>& tx) { many.set(tx, tx.make_array<nv::ptr<node>[]>(length)); });
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space) << refused.error().to_string();
        EXPECT_NE(refused.error().why.find("larger than any region"), std::string::npos);
    }
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, a_long_list_dies_in_pieces) {
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, tx.make<node>(0, nullptr)); }));
    for (int piece = 0; piece < 20; ++piece) {
        must(heap.atomic([&](nv::tx<>& tx) {
            for (int i = 0; i < 500; ++i) head.set(tx, tx.make<node>(i, head.get()));
        }));
    }
    EXPECT_EQ(sound(heap).objects, 10'001U);
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, a_cycle_stays_until_it_is_collected) {
    must(heap.atomic([&](nv::tx<>& tx) {
        auto a = tx.make<node>(1, nullptr);
        auto b = tx.make<node>(2, a);
        a->next.set(tx, b);
        head.set(tx, a);
    }));
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).unreachable, 2U);
    EXPECT_EQ(must(heap.collect()), 2U);
    EXPECT_EQ(sound(heap).objects, 0U);
}

struct vertex {
    nv::ptr<vertex> next;
    nv::weak<vertex> back;
};

TEST_F(objects, what_a_collection_frees_is_what_the_check_could_not_reach) {
    auto start = must(heap.root<vertex>("start"));
    must(heap.atomic([&](nv::tx<>& tx) {
        auto a = tx.make<vertex>();
        auto b = tx.make<vertex>(a);
        a->next.set(tx, b);
        b->back.set(tx, a);  // and so a proxy, an object as any other
        start.set(tx, a);
    }));
    must(heap.atomic([&](nv::tx<>& tx) { start.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).unreachable, 3U);
    EXPECT_EQ(must(heap.collect()), 3U);
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, of_a_transaction_that_has_ended_do_not_change_whoever_takes_its_exception) {
    push(1);
    const auto swallowing = [&](auto&& what) {
        return heap.atomic([&](nv::tx<>& tx) {
            head->value.set(tx, 2);
            try {
                what(tx);
            } catch (...) {  // NOLINT(bugprone-empty-catch): what programs do
            }
        });
    };
    EXPECT_EQ(swallowing([](nv::tx<>& tx) { tx.abort(); }).error().code, errc::aborted);
    EXPECT_EQ(swallowing([](nv::tx<>& tx) { nv::cursor<node>()->value.set(tx, 3); }).error().code,
              errc::aborted);
    EXPECT_EQ(swallowing([](nv::tx<>& tx) { (void)tx.make_array<nv::p<char>[]>(1ULL << 45); })
                  .error()
                  .code,
              errc::aborted);
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{head->value}; })), 1);
    int attempts = 0;
    must(swallowing([&](nv::tx<>& tx) {
        if (++attempts < 3) tx.retry();
    }));
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{head->value}; })), 2);
    must(swallowing([](nv::tx<>&) { throw std::runtime_error("the program's own matter"); }));
}

TEST_F(objects, a_reference_keeps_its_object_alive_until_it_goes) {
    push(7);
    nv::ref<node> kept;
    must(heap.atomic([&](nv::tx<>& tx) {
        kept = head.get();
        head.set(tx, nullptr);
    }));
    EXPECT_EQ(sound(heap).orphans, 1U);
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{kept->value}; })), 7);
    {
        const nv::ref<node> copy = kept;
        kept = nullptr;
        EXPECT_EQ(sound(heap).objects, 1U);
    }
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, an_orphan_can_be_linked_again) {
    push(7);
    nv::ref<node> kept;
    must(heap.atomic([&](nv::tx<>& tx) {
        kept = head.get();
        head.set(tx, nullptr);
    }));
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, kept); }));
    kept = nullptr;
    EXPECT_EQ(sound(heap).orphans, 0U);
    EXPECT_EQ(values(), std::vector{7});
}

TEST_F(objects, an_orphan_that_is_referenced_again_before_it_is_reclaimed_stays_one) {
    push(7);
    nv::ref<node> kept;
    nv::ref<node> again;
    nv::weak_ref<node> weak;
    must(heap.read([&](nv::tx<>&) {
        kept = head.get();
        weak = head.get();
    }));
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).orphans, 1U);
    must(heap.read([&](nv::tx<>&) {
        kept = nullptr;  // the last reference
        again = weak.get();
    }));
    push(8);
    EXPECT_EQ(sound(heap).orphans, 1U);
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{again->value}; })), 7);
    again = nullptr;
    push(9);
    EXPECT_EQ(sound(heap).objects, 2U);
    EXPECT_EQ(sound(heap).orphans, 0U);
}

TEST_F(objects, what_only_references_held_ends_with_the_heap) {
    push(7);
    nv::ref<node> kept;
    must(heap.atomic([&](nv::tx<>& tx) {
        kept = head.get();
        head.set(tx, nullptr);
    }));
    reopen();
    EXPECT_EQ(sound(heap).objects, 0U);
    const auto used = heap.read([&](nv::tx<>&) { return int{kept->value}; });
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, errc::usage);
    EXPECT_NE(used.error().why.find("closed"), std::string::npos);
}

TEST_F(objects, what_only_references_held_is_reclaimed_after_a_crash) {
    ASSERT_EQ(in_child([&] {
                  auto h = open_heap(dir / "other.hf");
                  auto r = must(h.root<node>("head"));
                  nv::ref<node> kept;
                  must(h.atomic([&](nv::tx<>& tx) {
                      r.set(tx, tx.make<node>(1, tx.make<node>(2, nullptr)));
                  }));
                  must(h.atomic([&](nv::tx<>& tx) {
                      kept = r.get();
                      r.set(tx, nullptr);
                  }));
                  EXPECT_EQ(must(h.check()).orphans, 1U);
                  _exit(0);
                  return 0;
              }),
              0);
    auto h = open_heap(dir / "other.hf");
    EXPECT_EQ(sound(h).objects, 0U);
}

TEST_F(objects, a_reference_to_what_did_not_commit_is_refused) {
    nv::ref<node> made;
    EXPECT_FALSE(heap.atomic([&](nv::tx<>& tx) {
        made = tx.make<node>(1, nullptr);
        tx.abort();
    }));
    const auto used = heap.read([&](nv::tx<>&) { return int{made->value}; });
    ASSERT_FALSE(used);
    EXPECT_NE(used.error().why.find("did not commit"), std::string::npos);
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, a_cursor_is_good_in_its_transaction_only) {
    push(1);
    nv::cursor<node> c;
    must(heap.read([&](nv::tx<>&) { c = head.get(); }));
    const auto used = heap.read([&](nv::tx<>&) { return int{c->value}; });
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, errc::usage);
    const auto null = heap.read([&](nv::tx<>&) { return int{c->next->value}; });
    EXPECT_FALSE(null);
}

TEST_F(objects, a_weak_reference_becomes_null_with_its_object) {
    push(1);
    nv::weak_ref<node> w;
    must(heap.read([&](nv::tx<>&) { w = head.get(); }));
    const auto alive = [&] {
        return must(heap.read([&](nv::tx<>&) { return static_cast<bool>(w.get()); }));
    };
    EXPECT_TRUE(alive());
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_FALSE(alive());
    push(2);
    EXPECT_FALSE(alive());
}

TEST_F(objects, a_weak_reference_to_what_its_transaction_has_made_is_good_at_once) {
    nv::weak_ref<node> w;
    nv::weak_ref<node> lost;
    must(heap.atomic([&](nv::tx<>& tx) {
        const auto made = tx.make<node>(7, nullptr);
        w = made;
        ASSERT_TRUE(w.get());
        EXPECT_EQ(int{w.get()->value}, 7);
        head.set(tx, made);
    }));
    must(heap.read([&](nv::tx<>&) { EXPECT_TRUE(w.get()); }));
    EXPECT_FALSE(heap.atomic([&](nv::tx<>& tx) {
        lost = tx.make<node>(8, nullptr);
        tx.abort();
    }));
    must(heap.read([&](nv::tx<>&) { EXPECT_FALSE(lost.get()); }));
}

TEST_F(objects, copies_of_a_weak_reference_outlive_it) {
    push(1);
    std::vector<nv::weak_ref<node>> copies;
    {
        nv::weak_ref<node> w;
        must(heap.read([&](nv::tx<>&) { w = head.get(); }));
        copies.assign(3, w);
    }
    std::vector<nv::ref<node>> others;  // where it lay, were it gone
    for (int i = 2; i < 20; ++i) {
        push(i);
        must(heap.read([&](nv::tx<>&) { others.emplace_back(head.get()); }));
    }
    while (!copies.empty()) {
        must(heap.read([&](nv::tx<>&) {
            ASSERT_TRUE(copies.back().get());
            EXPECT_EQ(int{copies.back().get()->value}, 1);
        }));
        copies.pop_back();
    }
}

struct person {
    static constexpr std::string_view nv_name = "person";
    nv::p<int> age;
    nv::weak<person> friend_of;
    nv::ptr<person> child;
};

TEST_F(objects, a_weak_pointer_becomes_null_with_its_object) {
    auto one = must(heap.root<person>("one"));
    auto other = must(heap.root<person>("other"));
    must(heap.atomic([&](nv::tx<>& tx) {
        one.set(tx, tx.make<person>(30));
        other.set(tx, tx.make<person>(40));
        one->friend_of.set(tx, other.get());
    }));
    EXPECT_EQ(sound(heap).objects, 3U) << "and a proxy";
    const auto age = [&] {
        return must(heap.read([&](nv::tx<>&) {
            const auto f = one->friend_of.get();
            return f ? int{f->age} : 0;
        }));
    };
    EXPECT_EQ(age(), 40);
    must(heap.atomic([&](nv::tx<>& tx) { other.set(tx, nullptr); }));
    EXPECT_EQ(age(), 0);
    EXPECT_EQ(sound(heap).objects, 2U) << "the proxy waits for its pointers";
    must(heap.atomic([&](nv::tx<>& tx) { one->friend_of.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(objects, a_weak_pointer_to_what_its_transaction_made_and_lost_is_null) {
    auto one = must(heap.root<person>("one"));
    must(heap.atomic([&](nv::tx<>& tx) {
        one.set(tx, tx.make<person>(30));
        one->friend_of.set(tx, tx.make<person>(40));
        EXPECT_EQ(one->friend_of.get()->age, 40);
    }));
    must(heap.read([&](nv::tx<>&) { EXPECT_FALSE(one->friend_of.get()); }));
    EXPECT_EQ(sound(heap).objects, 2U) << "and the proxy";
    must(heap.atomic([&](nv::tx<>& tx) { one->friend_of.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(objects, a_great_array_of_pointers_dies_in_pieces) {
    auto many = must(heap.root<nv::ptr<node>[]>("many"));
    must(heap.atomic([&](nv::tx<>& tx) { many.set(tx, tx.make_array<nv::ptr<node>[]>(40'000)); }));
    for (unsigned i = 0; i < 40'000; i += 1'000) {
        must(heap.atomic([&](nv::tx<>& tx) {
            for (unsigned k = 0; k < 1'000; ++k) {
                many.get()[i + k].set(tx, tx.make<node>(1, nullptr));
            }
        }));
    }
    EXPECT_EQ(sound(heap).objects, 40'001U);
    must(heap.atomic([&](nv::tx<>& tx) { many.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

TEST_F(objects, a_volatile_heap_has_transactions_too) {
    auto h = must(nv::heap<>::make_volatile(u64{4} << 20));
    auto r = must(h.root<node>("head"));
    must(h.atomic([&](nv::tx<>& tx) { r.set(tx, tx.make<node>(3)); }));
    EXPECT_FALSE(h.atomic([&](nv::tx<>& tx) {
        r.set(tx, nullptr);
        tx.abort();
    }));
    EXPECT_EQ(must(h.read([&](nv::tx<>&) { return int{r->value}; })), 3);
    EXPECT_EQ(sound(h).objects, 1U);
    EXPECT_GT(h.numbers().commits, 0U);
    EXPECT_EQ(h.numbers().log_records, 0U) << "nothing is to survive";
}

TEST_F(objects, a_heap_on_a_disk_is_durable_when_atomic_returns) {
    nv::heap_options o = small_heap();
    o.region.medium = medium_kind::file;
    o.epoch = std::chrono::milliseconds(5);
    ASSERT_EQ(in_child([&] {
                  auto h = open_heap(dir / "disk.hf", o);
                  auto r = must(h.root<node>("head"));
                  must(h.atomic([&](nv::tx<>& tx) {
                      for (int i = 0; i < 3'000; ++i) r.set(tx, tx.make<node>(i, r.get()));
                  }));
                  must(h.atomic([&](nv::tx<>& tx) { r.set(tx, tx.make<node>(7)); }));
                  ticket when = 0;
                  must(h.later([&](nv::tx<>& tx) { r->next.set(tx, tx.make<node>(8)); }, when));
                  must(h.wait_durable(when));
                  EXPECT_TRUE(h.durable(when));
                  _exit(0);
                  return 1;
              }),
              0);
    auto h = open_heap(dir / "disk.hf", o);
    auto r = must(h.root<node>("head"));
    EXPECT_EQ(must(h.read([&](nv::tx<>&) { return r->value + r->next->value; })), 15);
    EXPECT_EQ(sound(h).objects, 2U);
    must(h.close());
}

TEST_F(objects, transactions_nest) {
    must(heap.atomic([&](nv::tx<>& tx) {
        head.set(tx, tx.make<node>(1));
        push(2);
    }));
    EXPECT_EQ(values(), (std::vector{2, 1}));
    EXPECT_FALSE(heap.atomic([&](nv::tx<>& tx) {
        push(3);
        tx.abort();
    }));
    EXPECT_EQ(values(), (std::vector{2, 1}));
}

TEST_F(objects, a_full_heap_refuses_and_goes_on) {
    must(heap.close());
    nv::heap_options o = small_heap();
    o.region.max_size = u64{3} << 20;
    auto h = open_heap(dir / "full.hf", o);
    auto r = must(h.root<node>("head"));
    for (;;) {
        const auto done = h.atomic([&](nv::tx<>& tx) {
            for (int i = 0; i < 100; ++i) r.set(tx, tx.make<node>(i, r.get()));
        });
        if (done) continue;
        EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
        break;
    }
    sound(h);
    must(h.atomic([&](nv::tx<>& tx) { r.set(tx, nullptr); }));
    EXPECT_EQ(sound(h).objects, 0U);
    heap = open_heap(file);
}

}  // namespace
}  // namespace hf::test
