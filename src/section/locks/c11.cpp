// Locks of C11 (threads.h). The C library's own call its mutexes without the dynamic linker, so they
// would be missed; an mtx_t is a pthread_mutex_t there, and a cnd_t a pthread_cond_t.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

pthread_mutex_t* mutex_of(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* condition_of(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

int c11_result(int error) {
    switch (error) {
        case 0:
            return thrd_success;
        case EBUSY:
            return thrd_busy;
        case ETIMEDOUT:
            return thrd_timedout;
        case ENOMEM:
            return thrd_nomem;
        default:
            return thrd_error;
    }
}

}  // namespace

extern "C" {

int mtx_lock(mtx_t* m) { return c11_result(pthread_mutex_lock(mutex_of(m))); }
int mtx_trylock(mtx_t* m) { return c11_result(pthread_mutex_trylock(mutex_of(m))); }
int mtx_timedlock(mtx_t* m, const timespec* until) {
    return c11_result(pthread_mutex_timedlock(mutex_of(m), until));
}
int mtx_unlock(mtx_t* m) { return c11_result(pthread_mutex_unlock(mutex_of(m))); }
int cnd_wait(cnd_t* c, mtx_t* m) {
    return c11_result(pthread_cond_wait(condition_of(c), mutex_of(m)));
}
int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* until) {
    return c11_result(pthread_cond_timedwait(condition_of(c), mutex_of(m), until));
}

}  // extern "C"
