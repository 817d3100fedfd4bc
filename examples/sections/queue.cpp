// A bounded queue with two condition variables. Producers number their items; what a consumer takes
// is counted in the same section. So produced = taken + queued, and no number is missing.
#include "program.hpp"

namespace {

constexpr unsigned capacity = 16;

struct queue {
    unsigned long items[capacity];
    unsigned long produced;  // number of the next item
    unsigned long taken;
    unsigned long sum_taken;
};

hf_region* region;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;

void put(queue* q) {
    const example::locked guard(lock);
    while (q->produced - q->taken == capacity) pthread_cond_wait(&not_full, &lock);
    example::store(q->items[q->produced % capacity], q->produced);
    example::store(q->produced, q->produced + 1);
    pthread_cond_signal(&not_empty);
}

void take(queue* q) {
    const example::locked guard(lock);
    while (q->produced == q->taken) pthread_cond_wait(&not_empty, &lock);
    example::store(q->sum_taken, q->sum_taken + q->items[q->taken % capacity]);
    example::store(q->taken, q->taken + 1);
    pthread_cond_signal(&not_full);
}

queue* open_queue() {
    const example::locked guard(lock);
    return example::root_of<queue>(region, "queue");
}

int check() {
    const queue* const q = open_queue();
    std::printf("%lu produced, %lu taken\n", q->produced, q->taken);
    if (q->produced == 0) return example::nothing_yet;
    if (q->produced - q->taken > capacity) return 1;
    for (unsigned long i = q->taken; i < q->produced; ++i) {
        if (q->items[i % capacity] != i) return 1;
    }
    return q->sum_taken == q->taken * (q->taken - 1) / 2 || q->taken == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return example::run_announced(
        argc, argv, 4, region,
        [](unsigned t) {
            queue* const q = open_queue();
            for (;;) t % 2 == 0 ? put(q) : take(q);
        },
        check);
}
