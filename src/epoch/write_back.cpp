#include "epoch/write_back.hpp"

#include "persist/persist_point.hpp"

namespace hf {

void write_back::make_durable(u64 ending) {
#if !defined(HF_MUTATION_boundary_flush)  // a seeded bug, for the tests of the tests
    write_back_all();
#endif
    HF_PERSIST_POINT("epoch E1: every dirty line durable before the epoch is counted");
    layout::epoch_record_store(region_.header().epoch, ending + 1);
    region_.med().persist(&region_.header().epoch, sizeof(layout::epoch_record));
    HF_PERSIST_POINT("epoch E2: epoch counted before it is announced");
}

void write_back::write_back_all() {
    gather(lanes_, chunks_);
    work_.run(chunks_.size(), [this](std::size_t i) {
        region_.med().flush_lines(region_.base(), chunks_[i].lines, chunks_[i].count);
        region_.med().fence();
    });
}

}  // namespace hf
