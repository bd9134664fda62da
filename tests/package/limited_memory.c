/* A `malloc` with a limit, to be preloaded. A request fails if it would bring the memory in use above the
   limit; of Python's small ones only the first, because Python ends the process if it has no memory at
   all. A request that does not fail, and that brings the memory to a new maximum, is recorded: a limit one
   byte below that maximum makes this request the first to fail. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { SMALL = 64 << 10 };
/* The maxima of small requests are recorded if they are this far apart. */
enum { STEP = 4 << 10 };
enum { MOST = 1 << 16 };

static atomic_int active, recorded, small_failed;
static _Atomic long in_use, highest, last_recorded;
static long limit;
static long maxima[MOST];

/* Starts to count the memory in use from 0. */
void limited_memory_start(long bytes) {
    limit = bytes;
    in_use = highest = last_recorded = 0;
    recorded = small_failed = 0;
    active = 1;
}

/* Returns the number of maxima. */
int limited_memory_stop(void) {
    active = 0;
    return recorded < MOST ? recorded : MOST;
}

/* A maximum in bytes; negative if the request was one of at most SMALL. */
long limited_memory_maximum(int index) { return maxima[index]; }

static int fits(size_t size, int is_of_python) {
    if (!active) return 1;
    if (size > LONG_MAX / 2) return 0;
    long total = in_use + (long)size;
    if (total > limit && (!is_of_python || size > SMALL || !small_failed++)) {
        errno = ENOMEM;
        return 0;
    }
    if (total > highest) {
        highest = total;
        if (size > SMALL || total > last_recorded + STEP) {
            last_recorded = total;
            int index = recorded++;
            if (index < MOST) maxima[index] = size > SMALL ? total : -total;
        }
    }
    return 1;
}

static void *counted(void *block) {
    if (active && block) in_use += (long)malloc_usable_size(block);
    return block;
}

static void *resized(void *block, size_t size, int is_of_python) {
    if (!fits(size, is_of_python)) return NULL;
    size_t before = block ? malloc_usable_size(block) : 0;
    void *moved = __libc_realloc(block, size);
    if (active && (moved || !size)) in_use -= (long)before;
    return counted(moved);
}

void *malloc(size_t size) {
    return fits(size, 0) ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return fits(bytes, 0) ? counted(__libc_calloc(count, size)) : NULL;
}

void *realloc(void *block, size_t size) { return resized(block, size, 0); }

void *memalign(size_t alignment, size_t size) {
    return fits(size, 0) ? counted(__libc_memalign(alignment, size)) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (!made) return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block) {
    if (active && block) in_use -= (long)malloc_usable_size(block);
    __libc_free(block);
}

/* Python's `PyMemAllocatorEx`. */
typedef struct {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;

enum { PYMEM_DOMAIN_MEM = 1, PYMEM_DOMAIN_OBJ = 2 };
extern void PyMem_SetAllocator(int, Allocator *) __attribute__((weak));

static void *py_malloc(void *context, size_t size) {
    return fits(size, 1) ? counted(__libc_malloc(size ? size : 1)) : NULL;
}

static void *py_calloc(void *context, size_t count, size_t size) {
    if (!count || !size) count = size = 1;
    return fits(count * size, 1) ? counted(__libc_calloc(count, size)) : NULL;
}

static void *py_realloc(void *context, void *block, size_t size) {
    return resized(block, size ? size : 1, 1);
}

static void py_free(void *context, void *block) { free(block); }

/* Limits all requests of Python. The process must have been started with PYTHONMALLOC=malloc. */
void limited_memory_of_python(void) {
    Allocator allocator = {NULL, py_malloc, py_calloc, py_realloc, py_free};
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &allocator);
    PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
}
