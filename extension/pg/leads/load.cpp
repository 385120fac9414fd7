#include <malloc.h>

#include "pg/guard.hpp"

extern "C" {
BACKFILL_EXPORT void _PG_init(void);
}

// Reports come and go in blocks of some hundred kilobytes. By default glibc gives such memory back to the kernel after
// each of them and faults it in again for the next, which costs a third of the work; this much it keeps instead.
void _PG_init() {
	constexpr int kept_bytes = 32 << 20;
	mallopt(M_TRIM_THRESHOLD, kept_bytes);
	mallopt(M_MMAP_THRESHOLD, kept_bytes);
}
