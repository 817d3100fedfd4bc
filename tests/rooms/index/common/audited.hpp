// Audits an eager space and its index while no operation is running.
#pragma once

#include "alloc/swept/audit_view.hpp"
#include "eager/space.hpp"

namespace hf::test {

template <class Index>
audit_report audited(eager_space& space, const Index& index) {
    audit_report report;
    const auto caches = space.grace().caches();
    swept::view books(space.heap(), caches);
    heap_audit a(space.file(), books, report);
    a.read_runs();
    a.read_free();
    index.audit(a);
    space.grace().each_retired([&](u64 offset) {
        if (const auto place = a.locate(offset, 0)) a.claim(*place, "what is retired", 0);
    });
    a.finish();
    return report;
}

}  // namespace hf::test
