#include "crashlab/targets/image/image_cases.hpp"

#include "base/random.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/schedule/fibers.hpp"
#include "epoch/epoch_manager.hpp"
#include "recovery/opening.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <utility>

namespace hf::lab {
namespace {

/// The region's words, one in each 4 KiB; at the end of an epoch, by its number.
using words = std::vector<u64>;
using history = std::map<u64, words>;
constexpr u64 stride = 4096;

/// A session on the image: opened, worked on, and dropped without closing. The journal's threads
/// must be fibers, so all of it happens within one run of fibers.
class session {
   public:
    session(medium_kind medium, u64 seed, history known)
        : random_(seed), history_(std::move(known)) {
        the_file.is_tmpfs = medium == medium_kind::shm;
        the_file.has_journal = true;
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
        the_file.is_tmpfs = false;
        the_file.has_journal = false;
    }

    /// Opens it, and judges what is there: the end of an epoch not before `announced`.
    void live(u64 announced, unsigned epochs) {
        std::exception_ptr thrown;
        run_on_fibers(1, random_(), [&](unsigned) {
            try {
                open();
                judge(announced);
                for (unsigned i = 0; i < epochs; ++i) change_and_end_epoch(i);
            } catch (...) {
                thrown = std::current_exception();
            }
            close();
        });
        if (thrown) std::rethrow_exception(thrown);
    }
    [[nodiscard]] const history& known() const { return history_; }

   private:
    void open() {
        // The lab watches the first windows; private memory must lie in another one.
        for (unsigned i = 0; i < most_files; ++i) watched_.push_back(must(window::take()));
        opening_options o;
        o.file.initial_size = u64{2} * layout::page_size;
        o.file.max_size = u64{60} << 20;
        o.file.image = image_kind::journalled;
        o.file.flush = flush_policy::always;
        o.file.memory = u64{256} << 20;
        o.journal.shape = {.segment_bytes = 4 * journal::page, .segments = 4};
        file_ = must(open_region(file_path, o));
        epoch_options by_hand;
        by_hand.epoch = no_clock;
        epochs_ = must(epoch_manager::open(file_, by_hand));
        history_[epochs_->current_epoch()] = now();  // the session begins by ending it
        must(epochs_->start());
    }
    void close() {
        epochs_.reset();
        file_ = {};
        watched_.clear();
    }

    [[nodiscard]] u64& word(u64 i) const {
        return *file_.file->at<u64>(layout::page_size + i * stride);
    }
    [[nodiscard]] u64 count() const { return (file_.file->size() - layout::page_size) / stride; }
    [[nodiscard]] words now() const {
        words all(count());
        for (u64 i = 0; i < all.size(); ++i) all[i] = word(i);
        return all;
    }
    void judge(u64 announced) const {
        const words found = now();
        const bool is_known =
            std::any_of(history_.lower_bound(announced), std::prev(history_.end()),
                        [&](const auto& end) { return end.second == found; });
        const bool is_new = history_.size() == 1;
        require(is_known || is_new,
                "the state is that of no epoch's end from the announced one on");
    }

    void change_and_end_epoch(unsigned number) {
        if (number == 1) must(file_.file->grow(segment_kind::heap, 1, 0));
        for (unsigned i = 0; i < 6; ++i) {
            u64& at = word(random_() % count());
            at = random_();
            file_.file->med().flush(&at, sizeof at);
        }
        if (random_() % 2 == 0) file_.journal->redo()->ask_to_apply();
        const u64 ending = epochs_->current_epoch();
        history_[ending] = now();
        must(epochs_->wait_durable(ending));
    }

    template <class T>
    static T must(tl::expected<T, error> r) {
        if (!r) throw violation(r.error().to_string());
        if constexpr (!std::is_void_v<T>) return std::move(*r);
    }

    splitmix64 random_;
    history history_;
    std::vector<window> watched_;
    opened_region file_;
    std::unique_ptr<epoch_manager> epochs_;
};

class recovered_image final : public survivor {
   public:
    recovered_image(medium_kind medium, u64 seed, history known, u64 announced)
        : medium_(medium), seed_(seed), known_(std::move(known)), announced_(announced) {}

    void crash() override {}
    std::unique_ptr<survivor> recover(u64 announced) override {
        return recover_image(medium_, seed_ + 1, known_, std::max(announced, announced_));
    }
    [[nodiscard]] static std::unique_ptr<survivor> recover_image(medium_kind medium, u64 seed,
                                                                 history known, u64 announced) {
        session s(medium, seed, std::move(known));
        s.live(announced, 0);
        return std::make_unique<recovered_image>(medium, seed, s.known(), announced);
    }
    [[nodiscard]] unsigned questions() const override { return 1; }
    void ask(unsigned) override { session(medium_, seed_, known_).live(announced_, 0); }
    void inspect() override { ask(0); }
    void work_on() override {
        session s(medium_, seed_, known_);
        s.live(announced_, 2);
        known_ = s.known();
    }

   private:
    medium_kind medium_;
    u64 seed_;
    history known_;
    u64 announced_;
};

/// A session ends by a crash of its process; the next recovers, works on and is cut off.
class journalled_image final : public target {
   public:
    journalled_image(medium_kind medium, u64 seed) : medium_(medium), seed_(seed) {}

    void prepare() override {
        session s(medium_, seed_, {});
        s.live(0, 2);
        known_ = s.known();
        durable_ = known_.rbegin()->first;
    }
    void run() override {
        session s(medium_, seed_ + 1, known_);
        s.live(durable_, 3);
        known_ = s.known();
    }
    void crash() override {}
    std::unique_ptr<survivor> recover(u64 announced) override {
        return recovered_image::recover_image(medium_, seed_ + 2, known_,
                                              std::max(announced, durable_));
    }

   private:
    medium_kind medium_;
    u64 seed_;
    history known_;
    u64 durable_ = 0;
};

target_description described(std::string_view name, std::string_view what, medium_kind medium) {
    target_description d;
    d.name = name;
    d.room = "recovery";
    d.what = what;
    d.make = [medium](u64 seed) { return std::make_unique<journalled_image>(medium, seed); };
    d.points = {"journal J0: the base's length durable before a record that needs it",
                "journal J1: a record durable before its epoch is announced",
                "journal J3: lines durable in the base before their records are given up",
                "journal J4: the header durable before a segment is used again",
                "journal K0: records durable before recovery brings them to the base",
                "journal K1: base complete before the old journal is reset",
                "epoch O1: session in the superblock, durable before the epoch record"};
    d.files = 2;
    return d;
}

}  // namespace

const std::vector<target_description>& image_cases() {
    static const std::vector<target_description> all{
        described("image.shm", "a journalled image on tmpfs, recovered, grown and cut off",
                  medium_kind::shm),
        described("image.dax",
                  "a journalled image on persistent memory, recovered, grown and cut off",
                  medium_kind::dax)};
    return all;
}

}  // namespace hf::lab
