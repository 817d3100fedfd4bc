// list_fixture.hpp: the smallest structure that is durable with every operation: a stack of nodes
// under one word, with a lock beside it. For tests of what an index stands on.
#pragma once

#include "eager/operation.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <vector>

namespace hf::test {

class eager_stack final : public traced {
   public:
    using operation = eager_operation<persist_batch>;
    struct alignas(line_size) head {
        node_lock lock;
        published first;
    };
    struct node {
        published next;
        u64 value;
    };
    static constexpr u32 node_kind = 1;
    static constexpr u32 head_kind = 2;

    static result<std::unique_ptr<eager_stack>> open(eager_space& space) {
        auto made = std::make_unique<eager_stack>(space);
        if (auto known = space.file().find_root("stack")) {
            made->offset_ = (*known)->value.load();
        } else {
            operation op(space);
            made->offset_ = must(op.allocate(sizeof(head)));
            auto* h = op.at<head>(made->offset_);
            h->lock.fill(0);
            h->first.store(0);
            op.written(h, sizeof(*h));
            op.persist_publication();
            static_cast<void>(must(space.file().publish_root("stack", 1, 1, made->offset_)));
        }
        made->head_ = space.file().at<head>(made->offset_);
        space.add_structure(*made);
        return made;
    }
    explicit eager_stack(eager_space& s) : space_(s) {}

    /// True: the lock was a dead one's.
    bool push(u64 value, u64 bytes = sizeof(node)) {
        operation op(space_);
        const bool was_dead = head_->lock.lock(op.generation());
        const u64 offset = must(op.allocate(bytes));
        auto* n = op.at<node>(offset);
        n->value = value;
        n->next.store(head_->first.load());
        op.written(n, sizeof(*n));
        op.persist_unpublished();
        op.publish(head_->first, offset);
        op.persist_publication();
        head_->lock.unlock();
        return was_dead;
    }
    void pop() {
        operation op(space_);
        head_->lock.lock(op.generation());
        const u64 offset = head_->first.load();
        op.publish(head_->first, op.at<node>(offset)->next.load());
        op.persist_publication();
        head_->lock.unlock();
        op.retire(*this, offset, node_kind);
    }
    [[nodiscard]] std::vector<u64> values() const {
        std::vector<u64> all;
        operation op(space_);
        for (u64 at = head_->first.load(); at != 0; at = op.at<node>(at)->next.load()) {
            all.push_back(op.at<node>(at)->value);
        }
        op.note_dependency(head_->lock, &head_->first, sizeof(head_->first));
        op.persist_dependencies();
        return all;
    }
    [[nodiscard]] head& top() const noexcept { return *head_; }

    void trace_roots(tracer& t) const override { t.visit(offset_, head_kind); }
    void trace(u64 offset, u32 kind, tracer& t) const override {
        if (kind == head_kind) return t.visit(head_->first.load(), node_kind);
        t.visit(space_.file().at<node>(offset)->next.load(), node_kind);
    }

   private:
    eager_space& space_;
    u64 offset_ = 0;
    head* head_ = nullptr;
};

class eager_file {
   public:
    /// `most_bytes`: how large it may become; 0: as large as any.
    explicit eager_file(std::filesystem::path file, medium_kind medium = medium_kind::shm,
                        u64 most_bytes = 0)
        : file_(std::move(file)), medium_(medium), most_bytes_(most_bytes) {
        open();
    }

    eager_file(std::filesystem::path file, sweeping how)
        : file_(std::move(file)), medium_(medium_kind::shm), most_bytes_(0) {
        open(how);
    }

    void open(sweeping how = sweeping::at_opening, unsigned threads = 1) {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{1} << 20;
        if (most_bytes_ != 0) o.region.max_size = most_bytes_;
        o.region.medium = medium_;
        if (medium_ != medium_kind::file) o.region.flush = flush_policy::always;
        o.sweep = how;
        o.sweep_threads = threads;
        space = must(eager_space::open(file_, o, {}, [this](eager_space& s) -> result<void> {
            stack = must(eager_stack::open(s));
            return {};
        }));
    }
    void kill() {
        space.reset();
        stack.reset();
    }

    std::unique_ptr<eager_space> space;
    std::unique_ptr<eager_stack> stack;

   private:
    std::filesystem::path file_;
    medium_kind medium_;
    u64 most_bytes_;
};

}  // namespace hf::test
