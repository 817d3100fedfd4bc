#include "crashlab/targets/region/upgrade_case.hpp"

#include "crashlab/runtime/file.hpp"
#include "recovery/opening.hpp"

#include <string>

namespace hf::lab {
namespace {

// A made-up room. Version 1 has a number in each of a few lines; version 2 adds its double after
// it; version 3 adds the sum of both.
constexpr unsigned lines = 3;
constexpr layout::room_format version_1[] = {{"counter", 1}};
constexpr layout::room_format version_3[] = {{"counter", 3}};

u64* line(const region& r, unsigned i) { return r.at<u64>(layout::page_size + i * line_size); }

result<void> to_2(region& r) {
    for (unsigned i = 0; i < lines; ++i) {
        line(r, i)[1] = 2 * line(r, i)[0];
        r.med().flush_line(line(r, i));
    }
    return {};
}
result<void> to_3(region& r) {
    for (unsigned i = 0; i < lines; ++i) {
        line(r, i)[2] = line(r, i)[0] + line(r, i)[1];
        r.med().flush_line(line(r, i));
    }
    return {};
}
const upgrade_step steps[] = {{"counter", 1, 2, to_2}, {"counter", 2, 3, to_3}};

std::unique_ptr<region> open(std::span<const layout::room_format> rooms) {
    opening_options o{.rooms = rooms, .upgrades = steps};
    o.file.initial_size = u64{2} << 20;
    o.file.max_size = u64{60} << 20;
    o.file.flush = flush_policy::always;
    auto opened = open_region(file_path, o);
    if (!opened) throw violation(opened.error().to_string());
    return std::move(opened->file);
}

class upgraded final : public survivor {
   public:
    upgraded() : file_(open(version_3)) {}

    void crash() override { file_.reset(); }
    std::unique_ptr<survivor> recover(u64) override { return std::make_unique<upgraded>(); }
    [[nodiscard]] unsigned questions() const override { return lines; }
    void ask(unsigned i) override {
        const u64* words = line(*file_, i);
        const u64 first = i + 1;
        if (words[0] != first || words[1] != 2 * first || words[2] != 3 * first) {
            throw violation("line " + std::to_string(i) + " is not of version 3");
        }
    }
    void inspect() override {
        require(layout::version_of(file_->super(), "counter") == 3, "it is of an older version");
        for (unsigned i = 0; i < lines; ++i) ask(i);
    }

   private:
    std::unique_ptr<region> file_;
};

class older final : public target {
   public:
    void prepare() override {
        const auto file = open(version_1);
        for (unsigned i = 0; i < lines; ++i) line(*file, i)[0] = i + 1;
    }
    void run() override { file_ = open(version_3); }
    void crash() override { file_.reset(); }
    std::unique_ptr<survivor> recover(u64) override { return std::make_unique<upgraded>(); }

   private:
    std::unique_ptr<region> file_;
};

}  // namespace

target_description upgrade_case() {
    return {"recovery.upgrade",
            "recovery",
            "a region of an older format is opened",
            [](u64) { return std::make_unique<older>(); },
            {"recovery U1: upgraded bytes durable before the version says so",
             "recovery U2: version raised before the next step begins"}};
}

}  // namespace hf::lab
