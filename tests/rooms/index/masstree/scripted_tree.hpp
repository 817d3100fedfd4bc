// scripted_tree.hpp: a tree whose adapter and heap call the test at each step.
//
// Purpose. Tests concurrent changes and failures between two steps of a writer deterministically,
// without threads: hooks of the adapter and of the heap call the test, which checks the nodes,
// changes them as another thread would, or makes an allocation fail. Nodes are small, so a few
// records make a tree of several levels.
#pragma once

#include "index/masstree/audit.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <functional>

namespace hf::test {

struct script {
    unsigned steps_left = ~0U;  ///< number of fallible steps that succeed; the next one fails
    std::function<void(u64 offset)> node_dropped;
    std::function<void(masstree_detail::transient_leaf&)> arrived;
    std::function<void(masstree_detail::word&)> before_publish;
    bool failed = false;

    [[nodiscard]] result<void> may_fail() {
        if (steps_left-- != 0) return {};
        failed = true;
        return failure({errc::no_space, "go on", "a test", "it says so", "go on"});
    }
};
inline script the_script;

struct scripted_leaf : masstree_detail::transient_leaf {
    static constexpr unsigned width = 10;  // the maximum number of entries with one slice
};
struct scripted_interior : masstree_detail::interior {
    static constexpr unsigned width = 3;
};

class scripted_heap : public list_heap<unlogged_lists> {
   public:
    using list_heap::list_heap;
    result<u64> allocate(operation& op, u64 payload) {
        if (payload == masstree_detail::node_payload) {
            if (auto room = the_script.may_fail(); !room) return tl::unexpected(room.error());
        }
        return list_heap::allocate(op, payload);
    }
    void deallocate(operation& op, u64 offset, u64 payload) {
        const bool is_node = payload == masstree_detail::node_payload;
        if (is_node && the_script.node_dropped) the_script.node_dropped(offset);
        list_heap::deallocate(op, offset, payload);
    }
};

class scripted_adapter : public masstree_detail::transient_adapter {
   public:
    using leaf = scripted_leaf;
    using interior = scripted_interior;
    using node = masstree_detail::node;
    using transient_adapter::transient_adapter;

    static void arrive(operation& /*op*/, leaf& n) {
        if (the_script.arrived) the_script.arrived(n);
    }
    static void arrive_taken_over(operation& op, leaf& n) { arrive(op, n); }
    static void root_became_interior(operation& /*op*/, interior& n) {
        masstree_detail::store(n.log_epoch, 0);
    }
    static result<void> before_value_change(operation& /*op*/, leaf& /*n*/, unsigned /*slot*/) {
        return the_script.may_fail();
    }
    static result<void> before_removal(operation& /*op*/, leaf& /*n*/) {
        return the_script.may_fail();
    }
    static result<unsigned> choose_slot_for_insert(operation& /*op*/, leaf& /*n*/,
                                                   masstree_detail::permutation<leaf::width> p) {
        if (auto room = the_script.may_fail(); !room) return tl::unexpected(room.error());
        return p.slot(p.size());
    }
    static result<void> log_nodes(operation& /*op*/, std::span<node* const> nodes) {
        for (const node* n : nodes) EXPECT_TRUE(n->version.load() & version_lock::locked);
        return the_script.may_fail();
    }
    static void publish(operation& /*op*/, masstree_detail::word& w, u64 value) {
        if (the_script.before_publish) the_script.before_publish(w);
        masstree_detail::store(w, value);
    }
};

struct scripted_discipline {
    using operation = hf::operation;
    using memory = scripted_heap;
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "scripted";
};

}  // namespace hf::test

template <>
struct hf::masstree_detail::adapter_of<hf::test::scripted_discipline> {
    using type = hf::test::scripted_adapter;
};
