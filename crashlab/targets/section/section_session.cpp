#include "crashlab/targets/section/section_session.hpp"

#include "crashlab/runtime/file.hpp"

#include <string>
#include <utility>

namespace hf::lab {

section_session::section_session(u64 seed, std::map<u64, section_state> history)
    : history_(std::move(history)),
      random_(seed),
      threads_(std::make_unique<section::thread_table>()),
      me_(&threads_->claim()) {
    section::group_options o;
    o.announced = true;
    o.bytes = u64{2} << 20;
    o.max_bytes = u64{60} << 20;
    o.flush = flush_policy::always;
    auto opened = section::group::open(file_path, o, *me_);
    if (!opened) throw violation(opened.error().to_string());
    group_ = std::move(*opened);
    root_ = static_cast<root*>(group_->table().regions[0].roots[0].value);
    if (root_ == nullptr) begin();
}

void section_session::begin() {
    section::change by = group_->change_by(*me_);
    auto p = group_->memory().allocate_aligned(by, 0, sizeof(root), line_size);
    if (!p) throw violation(p.error().to_string());
    root_ = static_cast<root*>(*p);
    by.zero(root_, sizeof *root_);
    auto& region = group_->table().regions[0];
    by.copy(region.name, "lab", 4);
    by.copy(region.roots[0].name, "root", 5);
    by.store(region.roots[0].value, root_);
    cut();
}

void section_session::store(unsigned n) {
    section::change by = group_->change_by(*me_);
    for (unsigned i = 0; i < n; ++i) {
        const auto at = static_cast<unsigned>(random_() % section_words);
        by.store(word(at), random_());
    }
}

void section_session::push_node(u64 bytes) {
    section::change by = group_->change_by(*me_);
    auto p = group_->memory().allocate(by, 0, std::max(bytes, u64{sizeof(node)}));
    if (!p) throw violation(p.error().to_string());
    auto* const fresh = static_cast<node*>(*p);
    by.store(fresh->payload, random_());
    by.store(fresh->next, root_->head);
    by.store(root_->head, fresh);
}

void section_session::pop_node() {
    node* const first = root_->head;
    if (first == nullptr) return;
    section::change by = group_->change_by(*me_);
    by.store(root_->head, first->next);
    group_->memory().free(by, first);
}

void section_session::cut() {
    const u64 ending = group_->epoch();
    section::change by = group_->change_by(*me_);
    by.store(root_->epoch, ending);
    history_[ending] = now();
    require(group_->cut(*threads_), "a cut on persistent memory is refused");
}

section_state section_session::now() const {
    section_state s;
    for (unsigned i = 0; i < section_words; ++i) s.words[i] = word(i);
    for (const node* n = root_->head; n != nullptr; n = n->next) {
        if (group_->memory().find(n).begin != reinterpret_cast<const std::byte*>(n)) {
            throw violation("the list leads to memory that is not allocated");
        }
        s.nodes.push_back(n->payload);
        require(s.nodes.size() < 100'000, "the list goes round in a circle");
    }
    return s;
}

void section_session::judge(u64 announced) const {
    const u64 found = root_->epoch;
    require(found >= announced, "a cut that was announced is lost");
    const auto then = history_.find(found);
    require(then != history_.end(), "the state is that of an epoch that never ended");
    require(then->second == now(), "the state is not what it was at the cut");
    u64 blocks = 0;
    group_->memory().walk([&](section::run_header& run) {
        if (run.kind == section::run_kind::large) ++blocks;
        if (run.kind != section::run_kind::slab) return;
        for (u64 b = 0; b < section::slab_shapes[run.size_class].blocks; ++b) {
            blocks += section::heap::is_allocated(run, b) ? 1 : 0;
        }
    });
    require(blocks == then->second.nodes.size() + 1, "the heap has other blocks than at the cut");
}

}  // namespace hf::lab
