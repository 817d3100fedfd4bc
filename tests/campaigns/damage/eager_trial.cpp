#include "damage/eager_trial.hpp"

#include "base/damage.hpp"
#include "eager/discipline.hpp"
#include "eager_map/indexes.hpp"
#include "map/inspect.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace hf::damage_test {

namespace {

namespace fs = std::filesystem;

/// The victim's index, open.
template <class Index>
class session {
   public:
    using key = typename Index::key;
    using operation = typename Index::operation;
    static constexpr bool has_numbers = std::is_same_v<key, u64>;
    using kept = std::conditional_t<has_numbers, u64, std::string>;

    [[nodiscard]] result<void> open(const fs::path& file) {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{2} << 20;
        o.region.max_size = most_region_bytes;
        o.sweep = sweeping::by_hand;
        const auto rooms = detail::formats_of_all<eager_discipline, byte_keys>();
        auto made = eager_space::open(file, o, rooms, [this](eager_space& s) -> result<void> {
            const auto name = detail::root_name(Index::name, has_numbers ? "integers" : "bytes");
            auto opened = Index::open(s, name);
            if (!opened) return tl::unexpected(opened.error());
            index_ = std::move(*opened);
            return {};
        });
        if (!made) return tl::unexpected(made.error());
        space_ = std::move(*made);
        return {};
    }
    [[nodiscard]] eager_space& space() noexcept { return *space_; }
    [[nodiscard]] Index& index() noexcept { return *index_; }

    /// Some short, some long, some with long common prefixes; numbers that are close to each other,
    /// and distant ones.
    [[nodiscard]] static kept key_at(u64 n) {
        if constexpr (has_numbers) {
            return n % 3 == 0 ? n : n % 3 == 1 ? n * 0x9e3779b97f4a7c15 : n << 40 | n;
        } else {
            return key_of(n);
        }
    }
    [[nodiscard]] static kept value_at(xoshiro256ss& r) {
        if constexpr (has_numbers) {
            return r();
        } else {
            return value_of(r);
        }
    }
    [[nodiscard]] result<u64> insert_many(u64 from, u64 count, xoshiro256ss& r) {
        std::vector<std::pair<kept, kept>> all;
        for (u64 n = from; n < from + count; ++n) all.emplace_back(key_at(n), value_at(r));
        std::sort(all.begin(), all.end());
        const std::vector<batch_entry<Index>> views(all.begin(), all.end());
        return hf::insert_many(*index_, *space_, std::span(views));
    }
    void read(u64 from, xoshiro256ss& r) {
        const kept k = key_at(from);
        {
            operation op(*space_);
            index_->get(op, k, [](const auto&) {});
        }
        const auto visit = [](const auto&, const auto&) {};
        if constexpr (ordered_eager_index<Index>) {
            const u64 most = r.below(200);
            r.below(2) == 0 ? index_->scan(*space_, k, most, visit)
                            : index_->scan_back(*space_, k, most, visit);
        } else {
            index_->for_each(*space_, visit);
        }
    }

   private:
    std::unique_ptr<Index> index_;  // destroyed after the space, which traces it
    std::unique_ptr<eager_space> space_;
};

template <class Index>
void make(const fs::path& file, const eager_recipe& how, std::string& image) {
    constexpr int lives = 3;
    xoshiro256ss r(how.seed);
    const auto read_all = [&] { image = read_image(file); };
    for (int life = 1; life <= lives; ++life) {
        session<Index> s;
        require(s.open(file).has_value(), "an opening");
        require(s.space().sweep(1).has_value(), "a sweep");
        for (unsigned i = 0; i < how.steps / lives; ++i) {
            const u64 n = r.below(how.names);
            const auto k = s.key_at(n);
            const auto v = s.value_at(r);
            if (i % 100 == 0) require(s.insert_many(n, 32, r).has_value(), "a batch");
            typename Index::operation op(s.space());
            if (r.below(3) == 0) {
                s.index().remove(op, k);
            } else {
                require(s.index().upsert(op, k, v).has_value(), "an upsert");
            }
        }
        if (life == lives && how.crashes) read_all();
        require(s.space().close().has_value(), "a close");
    }
    if (!how.crashes) read_all();
}

/// Calls work.template operator()<Index>() for the victim's index.
template <class Work>
auto for_victim(const std::string& index, const std::string& keys, Work&& work) {
    if (keys == "integers") return detail::for_index<eager_discipline, integer_keys>(index, work);
    return detail::for_index<eager_discipline, byte_keys>(index, work);
}

template <class Index>
class eager_trial {
   public:
    eager_trial(const victim& v, u64 seed, const sign_of_life& alive, seen& result)
        : victim_(v), random_(seed), alive_(alive), seen_(result) {}

    void run(const fs::path& file) {
        for (int life = 0; life < 2; ++life) {
            doing("open");
            session<Index> s;
            if (const auto ok = s.open(file); !ok) {
                seen_.refused = true;
                return must_be_damage(ok.error());
            }
            open_ = &s.space();
            held_ = held_locks();
            use(s);
            if (life == 1 || random_.below(2) == 0) {
                doing("sweep");
                is_swept_ = true;
                if (happened(s.space().sweep(1))) use(s);
                is_swept_ = false;
            }
            doing("close");
            if (random_.below(2) == 0) static_cast<void>(happened(s.space().close()));
        }
    }
    struct enough {};

   private:
    void doing(const char* what) {
        if (alive_ && !alive_(what)) throw enough();
    }
    void must_be_damage(const error& why) {
        ++seen_.errors;
        const bool may_be = why.code == errc::corrupt || why.code == errc::no_space ||
                            why.code == errc::incompatible;
        if (!may_be) throw wrong("an error that is none of damage: " + why.to_string());
    }
    template <class T>
    bool happened(const tl::expected<T, error>& r) {
        if (!r) must_be_damage(r.error());
        return r.has_value();
    }
    template <class Work>
    void attempt(const char* what, Work&& work) {
        doing(what);
        ++seen_.operations;
        try {
            work();
        } catch (const damage&) {
            ++seen_.errors;
            look_at_locks(what);
        }
    }
    /// Locks of the victim's nodes that are held. Valid before a sweep: until then their memory is
    /// not reused.
    [[nodiscard]] std::vector<u64> held_locks() const {
        std::vector<u64> all;
        for (const u64 offset : victim_.locks) {
            const auto& l = *open_->file().template at<node_lock>(offset);
            if (l.is_held(open_->generation())) all.push_back(offset);
        }
        return all;
    }
    void look_at_locks(const char* what) const {
        if (is_swept_) return;
        const auto now = held_locks();
        if (std::includes(held_.begin(), held_.end(), now.begin(), now.end())) return;
        throw wrong(std::string(what) + ": a lock is held, and nobody is there");
    }

    void use(session<Index>& s) {
        constexpr unsigned operations = 120;
        for (unsigned i = 0; i < operations; ++i) use_once(s);
    }
    void use_once(session<Index>& s) {
        const u64 n = random_.below(victim_.names + victim_.names / 5);
        const auto k = s.key_at(n);
        const auto v = s.value_at(random_);
        const auto once = [&](const char* what, auto&& work) {
            attempt(what, [&] {
                typename Index::operation op(s.space());
                work(op);
            });
        };
        switch (random_.below(10)) {
            case 0:
                return attempt("insert_many", [&] {
                    static_cast<void>(happened(s.insert_many(n, 1 + random_.below(48), random_)));
                });
            case 1:
                return attempt("scan", [&] { s.read(n, random_); });
            case 2:
            case 3:
                return once("insert", [&](auto& op) {
                    static_cast<void>(happened(s.index().insert(op, k, v)));
                });
            case 4:
            case 5:
                return once("upsert", [&](auto& op) {
                    static_cast<void>(happened(s.index().upsert(op, k, v)));
                });
            case 6:
                return once("update", [&](auto& op) {
                    static_cast<void>(happened(s.index().update(op, k, v)));
                });
            default:
                return once("remove", [&](auto& op) { s.index().remove(op, k); });
        }
    }

    const victim& victim_;
    xoshiro256ss random_;
    const sign_of_life& alive_;
    seen& seen_;
    eager_space* open_ = nullptr;
    std::vector<u64> held_;  ///< held because of the damage
    bool is_swept_ = false;
};

}  // namespace

victim make_eager_victim(image_file& file, const eager_recipe& how) {
    victim v;
    v.names = how.names;
    v.index = how.index;
    v.keys = how.keys;
    const fs::path made = file.path().string() + ".new";
    for_victim(how.index, how.keys, [&]<class Index>() { return make<Index>(made, how, v.image); });
    fs::remove(made);
    find_pages(v);
    file.write(v);
    return v;
}

seen try_out_eager(const fs::path& file, const victim& v, u64 seed, const sign_of_life& alive) {
    seen result;
    if (alive) alive("check");
    const auto found = audit_map(file);
    result.sound = found && found->ok();
    for_victim(v.index, v.keys, [&]<class Index>() {
        try {
            eager_trial<Index>(v, seed, alive, result).run(file);
        } catch (const typename eager_trial<Index>::enough&) {
            return;
        }
    });
    return result;
}

}  // namespace hf::damage_test
