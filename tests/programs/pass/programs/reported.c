// Calls of functions that another module defines: what the report says of each.
#include <string.h>
#include <unistd.h>

int unknown(int* p);
__attribute__((pure)) int reads_only(const int* p);
ssize_t (*table[])(int, void*, size_t) = {read};

void wrapped(int* persistent) { (void)read(0, persistent, 4); }

int kept(void) {
    int local[1];
    return read(0, local, 4) == 4 ? local[0] : 0;
}

int foreign(int* persistent) { return unknown(persistent); }

int pure(int* persistent) { return reads_only(persistent); }

int harmless(const char* persistent) { return (int)write(1, persistent, strlen(persistent)); }
