// says: nothing
#include "refused.hpp"

#include <chrono>

enum class kind { one, two };
struct point {
    double x;
    double y;
};
struct everything {
    nv::p<kind> k;
    nv::p<point> where;
    nv::p<std::chrono::nanoseconds> when;
    nv::array<nv::ptr<node>, 4> four;
    nv::bytes<100> raw;
    node within;
    nv::weak<everything> back;
};
static_assert(may_live<everything>);
static_assert(may_live<nv::ptr<everything>[]>);
void f(nv::tx<>& tx, nv::cursor<everything> e) {
    e->k.set(tx, kind::two);
    e->four[1].set(tx, tx.make<node>(1, e->four[0]));
    const point p = e->where;
    e->where.set(tx, {p.y, p.x});
}
struct destroyed {
    nv::p<int> a;
    void nv_destroy(nv::tx<>& tx) noexcept { a.set(tx, 1); }
};
static_assert(may_live<destroyed> && may_live<node> && may_live<everything>);
