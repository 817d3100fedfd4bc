// queue.hpp: a queue of byte strings that survives crashes, using only holdfast/checkpoint.hpp.
//
//   root   | first | last | count |          three logged words, each next to its log
//   node   | next, logged | size | bytes |   new memory: plain stores, recorded once
//
// A push writes its node, and logs one or two pointers and the count: no flush and no fence. A
// crash undoes exactly the pushes and pops since the last completed epoch.
#pragma once

#include <holdfast/checkpoint.hpp>

#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace example {

class queue {
   public:
    /// Opens the queue in the file's root: empty in a new file.
    explicit queue(hf::checkpointed& file) : file_(file), root_(*file.root<anchor>()) {}

    /// The ticket can be waited on for durability. errc::no_space: nothing was pushed.
    hf::result<hf::ticket> push(std::string_view bytes) {
        const std::lock_guard lock(mutex_);
        hf::checkpointed::operation op(file_);
        const auto memory = op.allocate(sizeof(node) + bytes.size(), alignof(node));
        if (!memory) return tl::unexpected(memory.error());
        auto* const fresh = new (*memory) node;
        fresh->size = bytes.size();
        std::memcpy(fresh->bytes(), bytes.data(), bytes.size());
#ifndef EXAMPLE_FORGETS_TO_NOTE  // a seeded mistake: the crash lab must find it
        op.note(fresh, sizeof(node) + bytes.size());
#endif
        if (node* const last = root_.last.get(op)) {
            last->next.set(op, fresh);
        } else {
            root_.first.set(op, fresh);
        }
        root_.last.set(op, fresh);
        root_.count.set(op, root_.count.get(op) + 1);
        return op.written_in();
    }

    std::optional<std::string> pop() {
        const std::lock_guard lock(mutex_);
        hf::checkpointed::operation op(file_);
        node* const first = root_.first.get(op);
        if (first == nullptr) return std::nullopt;
        std::string bytes(first->bytes(), first->size);
        node* const next = first->next.get(op);
        root_.first.set(op, next);
        if (next == nullptr) root_.last.set(op, nullptr);
        root_.count.set(op, root_.count.get(op) - 1);
        op.deallocate(first, sizeof(node) + first->size, alignof(node));
        return bytes;
    }

    [[nodiscard]] std::uint64_t size() {
        const std::lock_guard lock(mutex_);
        const hf::checkpointed::operation op(file_);
        return root_.count.get(op);
    }

    /// Calls visit(bytes) for each entry, first to last, until it returns false.
    template <class F>
    void for_each(F&& visit) {
        const std::lock_guard lock(mutex_);
        const hf::checkpointed::operation op(file_);
        for (node* n = root_.first.get(op); n != nullptr; n = n->next.get(op)) {
            if (!visit(std::string_view(n->bytes(), n->size))) return;
        }
    }

    /// Accesses every logged word once, which applies its log after a crash; a hundred nodes an
    /// operation.
    hf::result<void> mend() {
        node* at = nullptr;
        bool begun = false;
        const std::lock_guard lock(mutex_);
        return file_.mend([&](hf::checkpointed::operation& op) {
            if (!begun) {
                root_.first.mend(op);
                root_.last.mend(op);
                root_.count.mend(op);
                at = root_.first.get(op);
                begun = true;
            }
            for (int i = 0; i < 100 && at != nullptr; ++i) {
                at->next.mend(op);
                at = at->next.get(op);
            }
            return at != nullptr;
        });
    }

   private:
    struct node {
        hf::logged<node*> next;
        std::uint64_t size = 0;
        [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    };
    struct anchor {
        hf::logged<node*> first;
        hf::logged<node*> last;
        hf::logged<std::uint64_t> count;
    };

    hf::checkpointed& file_;
    anchor& root_;
    std::mutex mutex_;  // volatile: in the file a crash would leave it locked
};

}  // namespace example
