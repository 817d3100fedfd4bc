#include "crashlab/schedule/fibers.hpp"

#include "base/check.hpp"
#include "base/random.hpp"
#include "crashlab/schedule/real_threads.hpp"
#include "crashlab/schedule/yield.hpp"
#include "crashlab/trace/event.hpp"

#include <asm/prctl.h>

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace hf::lab {

constinit void (*yield_hook)(bool before_barrier) = nullptr;
constinit u8 running_fiber = 0;

namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 20;
constexpr u64 most_steps = 200'000'000;
constexpr u64 most_turns = 20'000;  // in a row, before a fiber counts as spinning

struct context {
    void* stack = nullptr;  ///< pointer, with the callee-saved registers on it
    u64 thread_base = 0;
};

u64 read_thread_base() {
    u64 base = 0;
    asm("mov %%fs:0, %0" : "=r"(base));  // the block's first word is its own address
    return base;
}

bool has_fsgsbase() {
    static const bool has = (::getauxval(AT_HWCAP2) & 2) != 0;
    return has;
}
bool fsgsbase = false;

// Saves the callee-saved registers on the stack, switches the stack and the thread block, and
// returns on the other stack. Naked, because the compiler must not keep anything on either.
__attribute__((naked, noinline)) void switch_to(context*, const context*, bool) {
    asm(R"(
        push %rbx
        push %rbp
        push %r12
        push %r13
        push %r14
        push %r15
        mov %rsp, (%rdi)
        mov (%rsi), %rsp
        mov 8(%rsi), %rdi
        test %dl, %dl
        jz 1f
        wrfsbase %rdi
        jmp 2f
    1:  mov %rdi, %rsi
        mov $0x1002, %edi
        mov $158, %eax
        syscall
    2:  pop %r15
        pop %r14
        pop %r13
        pop %r12
        pop %rbp
        pop %rbx
        ret
    )");
}

/// A real thread whose thread-local variables a fiber uses.
class sleeper {
   public:
    sleeper() {
        HF_CHECK(start_real_thread(&thread_, nullptr, sleep, this) == 0, "no thread for a fiber");
        while (base_.load(std::memory_order_acquire) == 0) ::usleep(10);
    }
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;
    /// Wakes it: the thread ends, and its thread-local variables are destroyed.
    ~sleeper() {
        awake_.store(true, std::memory_order_release);
        join_real_thread(thread_, nullptr);
    }
    [[nodiscard]] u64 base() const { return base_.load(std::memory_order_acquire); }
    [[nodiscard]] pthread_t thread() const { return thread_; }

   private:
    static void* sleep(void* self) {
        auto* s = static_cast<sleeper*>(self);
        s->base_.store(read_thread_base(), std::memory_order_release);
        while (!s->awake_.load(std::memory_order_acquire)) ::usleep(50);
        return nullptr;
    }
    pthread_t thread_{};
    std::atomic<u64> base_{0};
    std::atomic<bool> awake_{false};
};

struct fiber {
    context where;
    std::unique_ptr<sleeper> locals;
    std::function<void()> work;
    void* stack = nullptr;
    u64 priority = 0;
    bool done = false;
};

struct scheduler {
    // Reserves, because fibers must not move when others are added.
    explicit scheduler(u64 seed) : random(seed) { fibers.reserve(max_threads); }

    splitmix64 random;
    context main;
    std::vector<fiber> fibers;
    std::vector<u64> changes;      ///< steps at which the running fiber gets the lowest priority
    std::vector<u64> at_barriers;  ///< the same, counting only flushes and fences
    u64 step = 0;
    u64 barriers = 0;
    u64 turns = 0;
    u64 lowest = u64{1} << 32;
};

scheduler* current = nullptr;
constexpr u64 steps_per_barrier = 16;  // approximate
constexpr u64 shortest_window = 2000;  // steps of the run among which changes are drawn

fiber* best() {
    fiber* found = nullptr;
    for (fiber& f : current->fibers) {
        if (!f.done && (found == nullptr || f.priority > found->priority)) found = &f;
    }
    return found;
}

fiber& running() { return current->fibers[running_fiber]; }

void go_to(fiber* next) {
    context* const from = &running().where;
    current->turns = 0;
    if (next == nullptr) {
        switch_to(from, &current->main, fsgsbase);
        return;
    }
    if (next == &running()) return;
    running_fiber = static_cast<u8>(next - current->fibers.data());
    switch_to(from, &next->where, fsgsbase);
}

void fall_behind() {
    running().priority = --current->lowest;
    go_to(best());
}

/// Whether the next of these changes is due.
bool is_time(std::vector<u64>& changes, u64 now) {
    if (changes.empty() || now < changes.back()) return false;
    changes.pop_back();
    return true;
}

void on_yield(bool before_barrier) {
    scheduler& s = *current;
    ++s.step;
    HF_CHECK(s.step < most_steps, "the fibers wait for each other for ever");
    const bool is_change = before_barrier && is_time(s.at_barriers, ++s.barriers);
    if (is_time(s.changes, s.step) || is_change || ++s.turns > most_turns) fall_behind();
}

void run_fiber() {
    running().work();
    running().done = true;
    go_to(best());
    HF_CHECK(false, "a fiber went on after its end");
}

void prepare(fiber& f) {
    f.locals = std::make_unique<sleeper>();
    f.stack =
        ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HF_CHECK(f.stack != MAP_FAILED, "no stack for a fiber");
    // As switch_to() leaves it: six registers, then the return address; aligned as after a call.
    auto* top = reinterpret_cast<u64*>(static_cast<char*>(f.stack) + stack_bytes) - 1;
    *top = 0;
    *--top = reinterpret_cast<u64>(&run_fiber);
    for (int i = 0; i < 6; ++i) *--top = 0;
    f.where = {top, f.locals->base()};
}

fiber& add_fiber(scheduler& s, std::function<void()> work) {
    HF_CHECK(s.fibers.size() < max_threads, "too many fibers");
    fiber& f = s.fibers.emplace_back();
    f.work = std::move(work);
    f.priority = (u64{1} << 32) + 1 + (s.random() >> 32);
    prepare(f);
    return f;
}

void draw_changes(scheduler& s, u64 about_steps) {
    // If the length of the run is unknown, draw it: any length may be right for some seed.
    const u64 drawn = shortest_window << (s.random() % 8);
    const u64 window = about_steps != 0 ? about_steps : drawn;
    for (unsigned i = 0; i < preemptions; ++i) {
        const u64 at = s.random() % window;
        if (s.random() % 2 == 0) {
            s.changes.push_back(1 + at);
        } else {
            s.at_barriers.push_back(1 + at / steps_per_barrier);
        }
    }
    std::sort(s.changes.rbegin(), s.changes.rend());
    std::sort(s.at_barriers.rbegin(), s.at_barriers.rend());
}

}  // namespace

bool on_fiber() noexcept { return current != nullptr; }

void give_way() noexcept {
    if (current == nullptr) return;
    ++current->step;
    HF_CHECK(current->step < most_steps, "the fibers wait for each other for ever");
    fall_behind();
}

pthread_t start_fiber(std::function<void()> work) {
    const pthread_t thread = add_fiber(*current, std::move(work)).locals->thread();
    go_to(best());
    return thread;
}

bool join_fiber(pthread_t thread) {
    for (std::size_t i = 0; i < current->fibers.size(); ++i) {
        if (pthread_equal(current->fibers[i].locals->thread(), thread) == 0) continue;
        while (!current->fibers[i].done) give_way();
        return true;
    }
    return false;
}

void run_on_fibers(unsigned threads, u64 seed, const std::function<void(unsigned)>& work,
                   u64 about_steps) {
    scheduler s(seed);
    fsgsbase = has_fsgsbase();
    for (unsigned i = 0; i < threads; ++i) add_fiber(s, [&work, i] { work(i); });
    draw_changes(s, about_steps);
    s.main.thread_base = read_thread_base();
    current = &s;
    yield_hook = on_yield;
    fiber* const first = best();
    running_fiber = static_cast<u8>(first - s.fibers.data());
    switch_to(&s.main, &first->where, fsgsbase);
    yield_hook = nullptr;
    current = nullptr;
    running_fiber = 0;
    for (fiber& f : s.fibers) ::munmap(f.stack, stack_bytes);
}

}  // namespace hf::lab
