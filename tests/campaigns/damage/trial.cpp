#include "damage/trial.hpp"

#include "map/inspect.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace hf::damage_test {

namespace {

namespace fs = std::filesystem;

/// A key in a message; it may have any bytes.
std::string named(const std::string& what, std::string_view key) {
    std::string text = what + " '";
    for (const char c : key) text += c > ' ' && c < 127 ? c : '.';
    return text + "'";
}

class trial {
   public:
    trial(const victim& v, u64 seed, const sign_of_life& alive, bool is_judged)
        : first_(v.content),
          content_(v.content),
          gone_(v.gone),
          names_(v.names),
          random_(seed),
          alive_(alive),
          may_judge_(is_judged),
          is_judged_(is_judged) {}

    seen run(const fs::path& file) {
        try {
            look(file);
            live(file);
        } catch (const enough&) {
            return seen_;
        }
        return seen_;
    }

   private:
    struct enough {};

    void live(const fs::path& file) {
        for (int life = 0; life < 2; ++life) {
            doing("open");
            auto m = map::open(file, by_hand());
            if (!m) {
                seen_.refused = true;
                failed(m.error());
                return;
            }
            is_judged_ = may_judge_ && m->kind() != discipline::eager;
            read_all(*m);
            if (life == 0) write_some(*m);
            if (life == 0) read_all(*m);
            doing("close");
            (void)m->close();
        }
    }

    void doing(const char* what) {
        doing_ = what;
        if (alive_ && !alive_(what)) throw enough();
    }
    void look(const fs::path& file) {
        doing("check");
        const auto found = audit_map(file);
        seen_.sound = found && found->ok();
    }

    // --- allowed results
    void found(const std::string& key, std::string_view value) const {
        if (!is_judged_) return;
        const auto it = content_.find(key);
        if (it != content_.end() && it->second == value) return;
        const auto before = first_.find(key);
        const bool is_old = before != first_.end() && before->second == value;
        const std::string which = it == content_.end() ? "found is, and should not be,"
                                  : is_old             ? "the value of before has"
                                                       : "a wrong value has";
        throw wrong(std::string(doing_) + ", operation " + std::to_string(seen_.operations) + ": " +
                    named(which, key));
    }
    void missing(const std::string& key) {
        if (!is_judged_ || !content_.contains(key)) return;
        ++seen_.missing;
        if (seen_.sound) throw wrong(named("the check says that all is well; missing is", key));
    }
    void failed(const error& why) const {
        require(!why.to_string().empty(), "an error without a text");
        if (seen_.sound && is_judged_) {
            throw wrong("the check says that all is well; an operation: " + why.to_string());
        }
    }
    template <class T>
    bool happened(const tl::expected<T, error>& r) {
        ++seen_.operations;
        if (r) return true;
        ++seen_.errors;
        failed(r.error());
        return false;
    }

    [[nodiscard]] std::vector<std::string> keys() const {
        std::vector<std::string> all(gone_.begin(), gone_.end());
        for (const auto& [key, value] : content_) all.push_back(key);
        return all;
    }

    void read_all(const map& m) {
        const auto all = keys();
        std::string value;
        for (const std::string& key : all) {
            doing("get");
            const auto got = m.get(key, value);
            if (!happened(got)) continue;
            *got ? found(key, value) : missing(key);
        }
        get_many(m, all);
        m.is_ordered() ? scan_all(m) : walk_all(m);
    }

    void walk_all(const map& m) {
        doing("walk");
        std::string cursor;
        do {
            const auto done = m.walk(cursor, 1000, [&](std::string_view key, std::string_view v) {
                found(std::string(key), v);
                return true;
            });
            if (!happened(done)) return;
        } while (!cursor.empty());
    }
    void scan_all(const map& m) {
        const auto visit = [&](std::string_view key, std::string_view v) {
            found(std::string(key), v);
            return true;
        };
        for (const char* from : {"", "4", "shared__", "shared__shared__shared__"}) {
            doing("scan");
            (void)happened(m.scan(from, visit));
            doing("scan backward");
            (void)happened(m.scan_backward(from, visit));
        }
        doing("scan backward");
        (void)happened(m.scan_backward(std::nullopt, visit));
    }

    void get_many(const map& m, const std::vector<std::string>& all) {
        const std::vector<std::string_view> views(all.begin(), all.end());
        constexpr std::size_t at_once = 16;
        for (std::size_t at = 0; at < views.size(); at += at_once) {
            doing("get_many");
            const auto some = std::span(views).subspan(at, std::min(at_once, views.size() - at));
            std::vector<bool> there(some.size());
            const bool done = happened(m.get_many(some, [&](std::size_t n, std::string_view v) {
                found(std::string(some[n]), v);
                there[n] = true;
            }));
            for (std::size_t n = 0; done && n < some.size(); ++n) {
                if (!there[n]) missing(std::string(some[n]));
            }
        }
    }

    /// A write that fails must change nothing.
    void write_some(map& m) {
        for (unsigned i = 0; i < 150; ++i) {
            const std::string key = key_of(random_.below(names_ + names_ / 5));
            write_one(m, key, value_of(random_));
            doing("sync");
            if (i % 50 == 49) (void)happened(m.sync());
        }
    }
    void write_one(map& m, const std::string& key, std::string value) {
        constexpr std::size_t modifiable = 1000;
        switch (random_.below(4)) {
            case 0: {
                doing("remove");
                const auto done = m.remove(key);
                if (happened(done) && done->existed) content_.erase(key);
                break;
            }
            case 1: {
                doing("modify");
                const auto done = m.modify(key, [&](auto old, std::string& fresh) {
                    if (old) found(key, *old);
                    value.resize(std::min(value.size(), modifiable));
                    fresh = value;
                    return map::edit::replace;
                });
                if (happened(done) && done->changed) content_[key] = std::move(value);
                break;
            }
            default:
                doing("put");
                if (happened(m.put(key, value))) content_[key] = std::move(value);
                break;
        }
    }

    const model& first_;
    model content_;
    std::set<std::string> gone_;
    u64 names_;
    xoshiro256ss random_;
    const sign_of_life& alive_;
    const char* doing_ = "";
    bool may_judge_;
    bool is_judged_;
    seen seen_;
};

}  // namespace

seen try_out(const fs::path& file, const victim& v, u64 seed, const sign_of_life& alive,
             bool is_judged) {
    return trial(v, seed, alive, is_judged).run(file);
}

}  // namespace hf::damage_test
