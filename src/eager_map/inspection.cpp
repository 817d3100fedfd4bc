#include "eager_map/inspection.hpp"

#include "base/damage.hpp"
#include "eager/eager_area.hpp"
#include "eager_map/engine.hpp"

#include <string>

namespace hf {

namespace {

template <class Key, class Owned>
auto open_to_look(const std::filesystem::path& path) {
    eager_map_options o;
    o.region.mode = open_mode::inspect;
    return detail::open_engine<Key, Owned>(path, o);
}

/// `damage` thrown while the index is walked becomes a finding like any other.
void audit_index(const std::function<void(heap_audit&)>& index, heap_audit& all,
                 audit_report& report) {
    try {
        index(all);
    } catch (const damage& d) {
        report.add(d.offset(), d.why());
        report.mark_incomplete();
    }
}

}  // namespace

eager_inspection eager_inspection::open(const std::filesystem::path& path) {
    eager_inspection looked;
    const auto take = [&looked](auto engine, const char* keys) {
        looked.file_ = &engine->space().file();
        looked.index_ = engine->name();
        looked.keys_ = keys;
        looked.index_audit_ = [e = engine.get()](heap_audit& a) { e->audit(a); };
        looked.engine_ = std::move(engine);
    };
    auto bytes = open_to_look<std::string_view, std::string>(path);
    if (bytes) {
        take(std::move(*bytes), "bytes");
        return looked;
    }
    if (bytes.error().code == errc::incompatible) {
        if (auto integers = open_to_look<u64, u64>(path)) {
            take(std::move(*integers), "integers");
            return looked;
        }
    }
    looked.refusal_ = bytes.error();
    return looked;
}

std::optional<u64> eager_inspection::counted_records() const {
    return hf::counted_records(file_->super());
}

audit_report eager_inspection::audit(const heap_audit::claim_visitor& told) const {
    audit_report report;
    swept::view books(*file_);
    heap_audit all(*file_, books, report);
    all.read_runs();
    all.tell_claims(told);
    audit_index(index_audit_, all, report);
    all.finish();
    const auto counted = counted_records();
    if (report.complete() && counted && *counted != report.tree.records) {
        report.add(0, std::to_string(*counted) + " records were counted when it was closed, and " +
                          std::to_string(report.tree.records) + " are found");
    }
    return report;
}

heap_figures eager_inspection::heap() const {
    audit_report report;
    swept::view books(*file_);
    heap_audit all(*file_, books, report);
    all.read_runs();
    return report.heap;
}

audit_report audit_live(eager_space& space, const std::function<void(heap_audit&)>& index) {
    space.grace().reclaim_all();
    audit_report report;
    const auto caches = space.grace().caches();
    swept::view books(space.heap(), caches);
    heap_audit all(space.file(), books, report);
    all.read_runs();
    all.read_free();
    audit_index(index, all, report);
    all.finish();
    return report;
}

}  // namespace hf
