// A structure with the concept of an index (index/common/index.hpp) needs only workloads: the
// session opens it, records each operation for the lab, and judges durable linearizability. The
// code must be instrumented, since the lab sees only instrumented accesses.
#include "examples/converting/lab/table_targets.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "examples/converting/chained_table.hpp"

namespace example {
namespace {

using namespace hf::lab::eager_points;

/// Two chains, so that they are long.
using session = hf::lab::eager_session<chained_table<hf::eager_discipline, 2>, hf::integer_keys>;
using table_case = hf::lab::eager_case<session>;

void add_first(session& s, hf::splitmix64&) { s.insert(1); }
void add_and_change(session& s, hf::splitmix64& r) {
    s.insert(6);
    s.update(r() % 6);
    s.upsert(7 + r() % 2);
    s.get(r() % 6);
}

const std::vector<table_case>& all() {
    using hf::lab::come;
    static const std::vector<table_case> cases{
        {"table.first", "an empty table", nullptr, add_first, {p1, p2}},
        {"table.write",
         "nodes come, and others take their places",
         come<session, 0, 6>,
         add_and_change,
         {p1, p2}},
        {"table.remove",
         "nodes go, and come again",
         come<session, 0, 8>,
         hf::lab::remove_some<session, 8>,
         {p2}},
        {"table.opening",
         "behind a crash: locks of the dead, the sweep",
         come<session, 0, 6>,
         add_and_change,
         {o1, p1},
         true},
        hf::lab::two_threads<session>("table.threads", "two threads in the same chains",
                                      come<session, 0, 6>, {p1, p2},
                                      hf::lab::work_beside_another<session>),
        hf::lab::two_threads<session>("table.reader", "a read beside writes of its key",
                                      come<session, 0, 6>, {p3}, hf::lab::read_or_change<session>)};
    return cases;
}

}  // namespace

std::vector<hf::lab::target_description> table_cases() {
    std::vector<hf::lab::target_description> made;
    for (const table_case& c : all()) made.push_back(hf::lab::describe(c, "tables"));
    return made;
}

}  // namespace example
