#include "crashlab/targets/region/region_case.hpp"

#include "crashlab/runtime/file.hpp"
#include "recovery/opening.hpp"

#include <memory>
#include <string>
#include <utility>

namespace hf::lab {
namespace {

// Odd operations increment the generation, even ones grow the region by a segment.
constexpr u64 refused_pages = 40;
constexpr u64 grown_pages = 2;
[[nodiscard]] bool grows(u64 number) { return number % 2 == 0; }

class opened_file {
   public:
    opened_file() {
        opening_options o;
        o.file.initial_size = u64{2} << 20;
        o.file.max_size = u64{60} << 20;
        o.file.flush = flush_policy::always;
        auto opened = open_region(file_path, o);
        if (!opened) throw violation(opened.error().to_string());
        file_ = std::move(opened->file);
    }

    /// As at the start of a session: from here on the region is not clean.
    void count_up(u64 number) {
        begin_operation(number);
        want(file_->update_super([](layout::superblock& s) {
            s.generation += 1;
            s.clean = 0;
        }));
        end_operation(number);
    }
    void grow(u64 number) {
        begin_operation(number);
        want(file_->grow(segment_kind::heap, grown_pages, 0));
        end_operation(number);
    }
    void have_growth_refused() {
        the_file.mappings_to_refuse = 1;
        require(!file_->grow(segment_kind::heap, refused_pages, 0), "a growth is not refused");
    }
    [[nodiscard]] u64 generation() const { return file_->super().generation; }
    [[nodiscard]] u64 segments() const { return file_->segments().size(); }

   private:
    template <class T>
    static void want(const tl::expected<T, error>& r) {
        if (!r) throw violation(r.error().to_string());
    }

    std::unique_ptr<region> file_;
};

class found_again final : public survivor {
   public:
    explicit found_again(promised all) : promised_(std::move(all)), file_(new opened_file) {}

    void crash() override { file_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<found_again>(all);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override {
        judge(file_->generation(), false, "the superblock is not as it was left");
        judge(file_->segments() - 1, true, "the segments are not as they were left");
    }
    void inspect() override { ask(0); }
    void work_on() override {
        const u64 last = promised_.operations.empty() ? 0 : promised_.operations.rbegin()->first;
        const u64 odd = last + 1 + last % 2;
        file_->count_up(odd);
        file_->grow(odd + 1);
        file_->count_up(odd + 2);
    }

   private:
    void judge(u64 found, bool growth, const char* what) const {
        u64 begun = 0;
        u64 returned = 0;
        for (const auto& [number, told] : promised_.operations) {
            if (grows(number) != growth) continue;
            ++begun;
            if (told.has_returned()) ++returned;
        }
        require(returned <= found && found <= begun, what);
    }

    promised promised_;
    std::unique_ptr<opened_file> file_;
};

class worked_on final : public target {
   public:
    void prepare() override { file_ = std::make_unique<opened_file>(); }
    void run() override {
        file_->count_up(1);
        file_->grow(2);
        file_->have_growth_refused();
        file_->count_up(3);
    }
    void crash() override { file_.reset(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<found_again>(all);
    }

   private:
    std::unique_ptr<opened_file> file_;
};

}  // namespace

target_description region_case() {
    return {"region.killed",
            "region",
            "a region with nothing in it is worked on, and its process is killed",
            [](u64) { return std::make_unique<worked_on>(); },
            {"region K1: what a killed process left is durable before it is built upon",
             "region S1: one superblock durable before the other is touched",
             "region G5: intent cleared before the next growth"}};
}

}  // namespace hf::lab
