// The cost of an operation's steps when every line is in the cache: a tree of a thousand records.
#include "base/check.hpp"
#include "bench/operations.hpp"
#include "bench/scratch_space.hpp"
#include "bench/zipfian.hpp"
#include "checkpoint_map/engine.hpp"

#include <benchmark/benchmark.h>

namespace hf::bench {

namespace {

constexpr u64 small_tree = 1'000;

/// An engine in tmpfs, with flushes.
template <class D>
class small_engine {
   public:
    small_engine() : space_(must(scratch_space::make(std::nullopt, huge_pages::automatic))) {
        engine_options options;
        options.file.initial_size = u64{256} << 20;
        options.file.flush = flush_policy::always;
        options.file.mode = open_mode::create_new;
        file_ = space_.file("micro");
        space_.remove(file_);
        machine_ = must(engine<D>::open(file_, options));
        for (u64 r = 0; r < small_tree; ++r) put(r);
        machine_->epochs().end_epoch();
    }
    ~small_engine() {
        machine_.reset();
        space_.remove(file_);
    }
    small_engine(const small_engine&) = delete;
    small_engine& operator=(const small_engine&) = delete;

    engine<D>& operator*() { return *machine_; }
    engine<D>* operator->() { return machine_.get(); }

    void put(u64 number) {
        const u64 k = key_of(number);
        const std::string_view key(reinterpret_cast<const char*>(&k), sizeof(k));
        operation op(machine_->checkpoint());
        const u64 fresh = must(machine_->tree().make_record(op, key, "12345678"));
        (void)must(machine_->tree().update(
            op, key, [fresh](const auto*) { return decision{decision::action::store, fresh}; }));
    }

   private:
    template <class T>
    static T must(tl::expected<T, error> r) {
        HF_CHECK(r.has_value(), "the region cannot be had");
        return std::move(*r);
    }

    scratch_space space_;
    std::filesystem::path file_;
    std::unique_ptr<engine<D>> machine_;
};

template <class D>
void enter_and_leave(benchmark::State& state) {
    small_engine<D> e;
    for ([[maybe_unused]] auto _ : state) {
        const operation op(e->checkpoint());
        benchmark::DoNotOptimize(op.epoch());
    }
}
BENCHMARK(enter_and_leave<transient_discipline>);
BENCHMARK(enter_and_leave<incll_discipline>);

/// Allocates and frees a block of 32 bytes; freed blocks are reused after the end of the epoch.
template <class D>
void allocate_and_free(benchmark::State& state) {
    small_engine<D> e;
    for ([[maybe_unused]] auto _ : state) {
        operation op(e->checkpoint());
        const auto block = e->memory().allocate(op, 16);
        HF_CHECK(block.has_value(), "no memory");
        e->memory().deallocate(op, *block, 16);
    }
}
BENCHMARK(allocate_and_free<transient_discipline>);
BENCHMARK(allocate_and_free<incll_discipline>);
BENCHMARK(allocate_and_free<malloc_discipline>);

template <class D>
void get_cached(benchmark::State& state) {
    small_engine<D> e;
    u64 n = 0;
    for ([[maybe_unused]] auto _ : state) {
        const u64 k = key_of(n++ % small_tree);
        operation op(e->checkpoint());
        bool found = e->tree().get(op, {reinterpret_cast<const char*>(&k), sizeof(k)},
                                   [](std::string_view v) { benchmark::DoNotOptimize(*v.data()); });
        benchmark::DoNotOptimize(found);
    }
}
BENCHMARK(get_cached<transient_discipline>);
BENCHMARK(get_cached<incll_discipline>);

template <class D>
void put_cached(benchmark::State& state) {
    small_engine<D> e;
    u64 n = 0;
    for ([[maybe_unused]] auto _ : state) e.put(n++ % small_tree);
}
BENCHMARK(put_cached<transient_discipline>);
BENCHMARK(put_cached<logged_discipline>);
BENCHMARK(put_cached<incll_discipline>);

void draw_zipfian(benchmark::State& state) {
    const zipfian ranks(20'000'000);
    xoshiro256ss random(1);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(ranks(random));
}
BENCHMARK(draw_zipfian);

}  // namespace

}  // namespace hf::bench
