// A bank whose accounts are a linked list, locked hand over hand: a transfer holds the lock of the
// next account before it gives back that of the one before. Money moves; the sum does not change.
// All stores are announced, so the bank runs in epoch mode and, with HOLDFAST_SECTION_MODE=graph,
// in graph mode.
#include "program.hpp"

namespace {

constexpr int account_count = 64;
constexpr long start_balance = 1000;

struct account {
    account* next;
    long balance;
};
struct bank {
    account* first;
    unsigned long transfers;
};

hf_region* region;
pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t locks[account_count];  // outside of the region, by position in the list

bank* open_bank() {
    auto* const b = example::root_of<bank>(region, "bank");
    if (b->first != nullptr) return b;
    hf_section_begin();
    for (int i = 0; i < account_count; ++i) {
        auto* const a = static_cast<account*>(hf_alloc(region, sizeof(account)));
        example::store(a->next, b->first);
        example::store(a->balance, start_balance);
        example::store(b->first, a);
    }
    hf_section_end();
    return b;
}

/// One walk along the list: takes from the account at `from` and gives to the one at `to`, > from.
void transfer(bank* b, int from, int to, long amount) {
    pthread_mutex_lock(&locks[0]);
    account* a = b->first;
    bool has_taken = false;
    for (int i = 0;; ++i, a = a->next) {
        if (i == from && a->balance >= amount) {
            example::store(a->balance, a->balance - amount);
            has_taken = true;
        }
        if (i == to) {
            if (has_taken) example::store(a->balance, a->balance + amount);
            {
                const example::locked guard(count_lock);
                example::store(b->transfers, b->transfers + 1);
            }
            pthread_mutex_unlock(&locks[i]);
            return;
        }
        pthread_mutex_lock(&locks[i + 1]);
        pthread_mutex_unlock(&locks[i]);
    }
}

void work(unsigned thread) {
    bank* const b = open_bank();
    std::minstd_rand random(thread + 1);
    for (;;) {
        const int from = static_cast<int>(random() % (account_count - 1));
        const int to = from + 1 + static_cast<int>(random() % unsigned(account_count - 1 - from));
        transfer(b, from, to, static_cast<long>(random() % 100));
    }
}

int check() {
    long sum = 0;
    int accounts = 0;
    const bank* const b = open_bank();
    for (const account* a = b->first; a != nullptr; a = a->next, ++accounts) sum += a->balance;
    std::printf("%d accounts, %ld in all, %lu transfers\n", accounts, sum, b->transfers);
    if (b->transfers == 0) return example::nothing_yet;
    return accounts == account_count && sum == account_count * start_balance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    for (pthread_mutex_t& l : locks) pthread_mutex_init(&l, nullptr);
    return example::run_announced(
        argc, argv, 3, region,
        [](unsigned t) {
            static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
            {
                const example::locked guard(once);
                open_bank();
            }
            work(t);
        },
        check);
}
