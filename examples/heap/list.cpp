// A persistent list, as in figure 2 of the NV-heaps paper. It is consistent after a crash without
// further code.
//
//     heap_list list.hf add 1 2 3
//     heap_list list.hf erase 2
//     heap_list list.hf
#include <holdfast/heap.hpp>

#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>

namespace nv = hf::nv;

struct node {
    nv::p<int> value;
    nv::ptr<node> next;
};

static void add(nv::heap<>& heap, nv::root<node>& head, int value) {
    heap.atomic([&](nv::tx<>& tx) { head.set(tx, tx.make<node>(value, head.get())); }).value();
}

static void erase(nv::heap<>& heap, nv::root<node>& head, int value) {
    heap.atomic([&](nv::tx<>& tx) {
            while (head && head->value == value) head.set(tx, head->next);
            for (auto n = head.get(); n; n = n->next) {
                while (n->next && n->next->value == value) n->next.set(tx, n->next->next);
            }
        })
        .value();
}

static void print(nv::heap<>& heap, nv::root<node>& head) {
    heap.read([&](nv::tx<>&) {
            for (auto n = head.get(); n; n = n->next) std::cout << n->value << '\n';
        })
        .value();
}

int main(int argc, char** argv) {
    const std::span<char*> all(argv, static_cast<std::size_t>(argc));
    if (all.size() < 2) {
        std::cerr << "usage: heap_list <file> [add|erase <number>...]\n";
        return 2;
    }
    auto heap = nv::heap<>::open(all[1]);
    if (!heap) {
        std::cerr << heap.error().to_string() << '\n';
        return heap.error().exit_code();
    }
    auto head = heap->root<node>("head").value();
    const std::string_view what = all.size() > 2 ? all[2] : "";
    for (char* number : all.subspan(all.size() > 3 ? 3 : all.size())) {
        (what == "add" ? add : erase)(*heap, head, std::atoi(number));
    }
    print(*heap, head);
    return heap->close() ? 0 : 1;
}
