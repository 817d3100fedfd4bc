#include "crashlab/targets/section/section_cases.hpp"

#include "crashlab/targets/section/section_session.hpp"

#include <memory>
#include <utility>

namespace hf::lab {
namespace {

using workload = void (*)(section_session&);

class kept_group final : public survivor {
   public:
    kept_group(u64 seed, std::map<u64, section_state> history, u64 announced)
        : seed_(seed),
          announced_(announced),
          open_(std::make_unique<section_session>(seed, std::move(history))) {}

    void crash() override {
        history_ = open_->history();
        open_.reset();
    }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<kept_group>(seed_ + 1, history_, announced);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { open_->judge(announced_); }
    void inspect() override { ask(0); }
    void work_on() override {
        for (int i = 0; i < 2; ++i) {
            open_->store(4);
            open_->pop_node();
            open_->push_node(100);
            open_->cut();
        }
        open_->judge(0);
    }

   private:
    u64 seed_;
    u64 announced_;
    std::map<u64, section_state> history_;
    std::unique_ptr<section_session> open_;
};

class sections final : public target {
   public:
    sections(u64 seed, workload prepare, workload run)
        : seed_(seed), prepare_(prepare), run_(run) {}

    void prepare() override {
        if (prepare_ == nullptr) return;
        open_ = std::make_unique<section_session>(seed_, std::map<u64, section_state>{});
        prepare_(*open_);
    }
    void run() override {
        if (open_ == nullptr) {
            open_ = std::make_unique<section_session>(seed_, std::map<u64, section_state>{});
        }
        run_(*open_);
    }
    void crash() override {
        if (open_ != nullptr) history_ = open_->history();
        open_.reset();
    }
    std::unique_ptr<survivor> recover(u64 announced) override {
        return std::make_unique<kept_group>(seed_ + 1, history_, announced);
    }

   private:
    u64 seed_;
    workload prepare_;
    workload run_;
    std::map<u64, section_state> history_;
    std::unique_ptr<section_session> open_;
};

// ------------------------------------------------------------------------------------- workloads

void no_more(section_session&) {}

/// Lines touched first, again, and both words of one line; then the epoch ends, and they are
/// touched first again.
void touch_lines(section_session& s) {
    s.store(3);
    s.store(3);
    s.cut();
    s.store(5);
    s.cut();
    s.store(2);
}

/// A long log, then a short one over it, then one of equal length: what lies after the short one's
/// last entry is of an older epoch.
void reuse_log(section_session& s) {
    s.store(24);
    s.cut();
    s.store(1);
    s.cut();
    s.store(1);
    s.cut();
    s.store(6);
}

void some_nodes(section_session& s) {
    for (int i = 0; i < 6; ++i) s.push_node(16U << i);
    s.cut();
}

/// Blocks of several sizes taken and given in one epoch, a block used again in the epoch in which
/// it was freed, slabs and large runs made and given back.
void allocate(section_session& s) {
    s.push_node(48);
    s.pop_node();
    s.push_node(40);
    s.pop_node();
    s.pop_node();
    s.push_node(70'000);
    s.cut();
    s.pop_node();
    s.push_node(3000);
    s.cut();
    s.push_node(200'000);
}

/// The file grows in the epoch that a crash undoes.
void grow(section_session& s) {
    s.push_node(u64{3} << 20);
    s.cut();
    s.pop_node();
    s.push_node(u64{5} << 20);
    s.cut();
}

target_description make(std::string_view name, std::string_view what, workload prepare,
                        workload run, std::vector<std::string_view> points) {
    return {name, "section", what,
            [=](u64 seed) { return std::make_unique<sections>(seed, prepare, run); },
            std::move(points)};
}

}  // namespace

const std::vector<target_description>& section_cases() {
    static const std::vector<std::string_view> cut_points = {
        "section U0: a line's undo entry is durable before the line is stored to",
        "section U2: every touched line is durable before the epoch is counted",
        "section U3: the epoch is counted before its log is used again"};
    static const std::vector<target_description> all = {
        make("section.first_touch", "lines are touched first, and again, in epochs that end",
             no_more, touch_lines, cut_points),
        make("section.log_reuse", "a short log over a long one", no_more, reuse_log, cut_points),
        make("section.allocation", "blocks of all sizes are taken and given", some_nodes, allocate,
             cut_points),
        make("section.growth", "the file grows for a large block", some_nodes, grow, cut_points),
        make("section.creation", "a group is made, and its first epochs end", nullptr, touch_lines,
             {"section T1: the table is durable before its magic word",
              "section T2: the table counts before the session begins"}),
    };
    return all;
}

}  // namespace hf::lab
