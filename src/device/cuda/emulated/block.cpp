/* Runs the threads of a block, each until it has to wait for others; and of some grids all blocks
 * at once. */
#include "block.h"
#include "fiber.h"
#include "random.h"
#include <cstdarg>
#include <memory>
#include <sys/mman.h>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace vv_emulated {

uint64_t random_state = 0x9e3779b97f4a7c15u;

constexpr unsigned most_threads = 1024, most_warps = most_threads / warp_lanes;

struct late_copy {
    void *to;
    const void *from;
    size_t bytes, real_bytes;
    unsigned group;
};

struct thread {
    uint3 index;
    unsigned warp, lane;
    fiber *stack;         /* NULL: not begun */
    const meeting *waits; /* for what; NULL: for nothing, or at the block's barrier */
    unsigned mask;
    exchange values;
    unsigned copy_group;
    std::vector<late_copy> copies;
};

/* Sets of lanes. A lane that runs, or has returned, is in none but `live`. */
struct warp {
    uint32_t live;       /* have not returned */
    uint32_t ready;      /* could run on */
    uint32_t meeting;    /* wait for others of the warp */
    uint32_t at_barrier; /* wait for the block */
    uint32_t pausing;    /* look again for what another block does */
};

struct block {
    const grid *of;
    unsigned live, at_barrier;
    barrier kind;
    unsigned predicates; /* of those at the barrier, how many were not 0 */
    int result;          /* of the last barrier that was passed */
    uint32_t ready;      /* warps in which a lane is ready */
    uint32_t pausing;    /* warps in which a lane pauses */
    bool mixes_warps;    /* goes on with any warp, not with the one that ran */
    bool copies_late;
};

/* A block that is alive, also while another one runs. */
struct place {
    thread threads[most_threads];
    warp warps[most_warps];
    char *shared_memory;
    block state; /* of one that doesn't run */
    uint3 index;
    bool begun, over;
};

static std::vector<std::unique_ptr<place>> places;
static size_t here, alive; /* which of them runs; how many of them the grid has */
static unsigned rounds;    /* from block to block since a thread met others or returned */
static thread *threads;    /* of the block that runs */
static warp *warps;
static block now;
static thread *current; /* NULL while no kernel runs */
static fiber process_stack;

/* The first expression of `kernel<4, 2>, grid, …`. */
static int name_length(const char *text) {
    int depth = 0, length = 0;
    for (; text[length] && (depth > 0 || text[length] != ','); length++) {
        depth += text[length] == '<' || text[length] == '(';
        depth -= text[length] == '>' || text[length] == ')';
    }
    return length;
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("emulated GPU: ", stderr);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (now.of) {
        std::fprintf(stderr, " (kernel %.*s, block %u %u %u", name_length(now.of->text),
                     now.of->text, blockIdx.x, blockIdx.y, blockIdx.z);
        if (current) {
            std::fprintf(stderr, ", thread %u %u %u", current->index.x, current->index.y,
                         current->index.z);
        }
        std::fputs(")", stderr);
    }
    std::fputs("\n", stderr);
    std::abort();
}

unsigned lane_id() {
    return current->lane;
}
exchange &own_exchange() {
    return current->values;
}

static const char *what_it_does(const thread &of) {
    const warp &home = warps[of.warp];
    uint32_t bit = 1u << of.lane;
    return home.meeting & bit      ? of.waits->name
           : home.at_barrier & bit ? "__syncthreads"
           : home.pausing & bit    ? "a pause"
                                   : nullptr;
}

/* Names one that waits, and one that it waits for. */
[[noreturn]] static void fail_stuck() {
    for (unsigned i = 0; i < most_threads; i++) {
        const thread &waits = threads[i];
        if (!(warps[i / warp_lanes].meeting >> waits.lane & 1)) {
            continue;
        }
        uint32_t absent = waits.mask & warps[waits.warp].live;
        for (unsigned lane = 0; lane < warp_lanes; lane++) {
            const thread &other = threads[waits.warp * warp_lanes + lane];
            if (absent >> lane & 1 &&
                (other.waits != waits.waits || !(warps[waits.warp].meeting >> lane & 1))) {
                current = nullptr;
                fail("all threads wait: thread %u %u %u in %s with mask 0x%08x, lane %u of which "
                     "waits in %s",
                     waits.index.x, waits.index.y, waits.index.z, waits.waits->name, waits.mask,
                     lane, what_it_does(other));
            }
        }
    }
    current = nullptr;
    fail("all threads wait, %u of %u at __syncthreads", now.at_barrier, now.live);
}

/* The next thread to run, no longer ready; NULL: none is ready. */
static thread *pick(unsigned home) {
    if (!now.ready) {
        return nullptr;
    }
    if (now.mixes_warps || !warps[home].ready) {
        home = draw_bit(now.ready);
    }
    unsigned lane = draw_bit(warps[home].ready);
    warps[home].ready &= ~(1u << lane);
    if (!warps[home].ready) {
        now.ready &= ~(1u << home);
    }
    return &threads[home * warp_lanes + lane];
}

static void make_ready(unsigned home, uint32_t lanes) {
    warps[home].ready |= lanes;
    if (lanes) {
        now.ready |= 1u << home;
    }
}

static void make_current(thread *next) {
    current = next;
    threadIdx = next->index;
}

/* Lets all at the barrier go on, but for `but`, which runs, if all that live are there. */
static bool pass_barrier(const thread *but) {
    if (now.at_barrier < now.live) {
        return false;
    }
    now.result = now.kind == barrier::count ? static_cast<int>(now.predicates)
                 : now.kind == barrier::any ? now.predicates > 0
                                            : now.predicates == now.live;
    now.at_barrier = 0;
    now.predicates = 0;
    for (unsigned home = 0; home < most_warps; home++) {
        uint32_t lanes = warps[home].at_barrier;
        if (but && but->warp == home) {
            lanes &= ~(1u << but->lane);
        }
        warps[home].at_barrier = 0;
        make_ready(home, lanes);
    }
    return true;
}

/* The same for a meeting of a warp, with the mask of one that waits. */
static bool hold_meeting(const thread &of, const thread *but) {
    warp &home = warps[of.warp];
    uint32_t present = of.mask & home.live;
    if (present & ~home.meeting) {
        return false;
    }
    exchange *values[warp_lanes];
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        const thread &other = threads[of.warp * warp_lanes + lane];
        values[lane] = &threads[of.warp * warp_lanes + lane].values;
        if (present >> lane & 1 && (other.waits != of.waits || other.mask != of.mask)) {
            fail("lane %u is in %s with mask 0x%08x, and lane %u, which it names, in %s with mask "
                 "0x%08x",
                 of.lane, of.waits->name, of.mask, lane, other.waits->name, other.mask);
        }
    }
    of.waits->combine(values, present);
    home.meeting &= ~present;
    make_ready(of.warp, but ? present & ~(1u << but->lane) : present);
    return true;
}

static void begin_here();
static thread *begin_block();

/* Goes to a block, whose pausing threads look again. */
static void enter(size_t which) {
    places[here]->state = now;
    here = which;
    place &to = *places[here];
    threads = to.threads;
    warps = to.warps;
    now = to.state;
    blockIdx = to.index;
    for (uint32_t homes = now.pausing; homes; homes &= homes - 1) {
        unsigned home = static_cast<unsigned>(__builtin_ctz(homes));
        make_ready(home, warps[home].pausing);
        warps[home].pausing = 0;
    }
    now.pausing = 0;
}

/* The next thread where none is ready in the block that runs: another block's, or one that paused;
 * NULL: all blocks are done. */
static thread *elsewhere() {
    constexpr unsigned patience =
        1 << 12; /* rounds of all blocks in which nothing was seen to go on */
    if (now.live && !now.pausing) {
        fail_stuck();
    }
    places[here]->over = !now.live;
    size_t next = here, first = draw_below(static_cast<uint32_t>(alive));
    for (size_t i = 0; i < alive && (next == here || places[next]->over); i++) {
        next = (first + i) % alive;
    }
    if (places[next]->over) {
        next = here;
    }
    if (places[next]->over) {
        return nullptr;
    }
    if (++rounds > patience * alive) {
        fail("blocks wait for each other for ever");
    }
    enter(next);
    return places[here]->begun ? pick(draw_bit(now.ready)) : begin_block();
}

/* Leaves the running thread where it is, until it is picked. */
static void suspend() {
    fiber *own = current->stack;
    thread *next = pick(current->warp);
    if (!next) {
        next = elsewhere();
    }
    make_current(next);
    if (!next->stack) {
        next->stack = fiber_take(begin_here);
        if (!next->stack) {
            fail("there is no memory for the stacks of a block's threads");
        }
    }
    if (next->stack != own) {
        fiber_switch(own, next->stack, false);
    }
}

void pause() {
    warps[current->warp].pausing |= 1u << current->lane;
    now.pausing |= 1u << current->warp;
    suspend();
}

void meet(const meeting &what, unsigned mask) {
    thread &self = *current;
    warp &home = warps[self.warp];
    if (!(mask >> self.lane & 1)) {
        fail("lane %u calls %s with mask 0x%08x, which does not name it", self.lane, what.name,
             mask);
    }
    rounds = 0;
    self.waits = &what;
    self.mask = mask;
    home.meeting |= 1u << self.lane;
    if (!hold_meeting(self, &self)) {
        suspend();
    }
}

int wait_for_block(barrier kind, int predicate) {
    if (now.at_barrier && now.kind != kind) {
        fail("waits for the block in another form of __syncthreads than a thread before");
    }
    rounds = 0;
    now.kind = kind;
    now.predicates += predicate != 0;
    now.at_barrier++;
    warps[current->warp].at_barrier |= 1u << current->lane;
    if (!pass_barrier(current)) {
        suspend();
    }
    return now.result;
}

/* The current thread has returned: whoever waited for it alone goes on. */
static void leave() {
    warp &home = warps[current->warp];
    home.live &= ~(1u << current->lane);
    now.live--;
    rounds = 0;
    current->copies.clear();
    for (uint32_t left = home.meeting; left; left &= home.meeting) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
        left &= ~(1u << lane);
        hold_meeting(threads[current->warp * warp_lanes + lane], nullptr);
    }
    if (now.at_barrier && now.live) {
        pass_barrier(nullptr);
    }
}

/* What runs on a fiber: the current thread and, as long as they have not begun, those after it. */
static void begin_here() {
    fiber_entered();
    fiber *own = current->stack;
    for (;;) {
        current->stack = own;
        now.of->body(now.of->arguments);
        leave();
        thread *next = pick(current->warp);
        if (!next) {
            next = elsewhere();
        }
        if (!next || next->stack) {
            fiber_give(own);
            if (next) {
                make_current(next);
            }
            fiber_switch(own, next ? next->stack : &process_stack, true);
        }
        make_current(next);
    }
}

/* Memory whose upper end lies at a page that can't be touched. */
constexpr size_t most_shared = 256 << 10, shared_alignment = 128;

static char *make_shared_memory() {
    constexpr size_t largest_page = 64 << 10;
    void *made = mmap(nullptr, most_shared + largest_page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        fail("there is no memory for shared memory");
    }
    mprotect(static_cast<char *>(made) + most_shared, largest_page, PROT_NONE);
    return static_cast<char *>(made);
}

void *dynamic_shared() {
    size_t bytes = (now.of->shared + shared_alignment - 1) / shared_alignment * shared_alignment;
    return places[here]->shared_memory + most_shared - bytes;
}
static void do_copy(const late_copy &copy) {
    std::memcpy(copy.to, copy.from, copy.real_bytes);
    std::memset(static_cast<char *>(copy.to) + copy.real_bytes, 0, copy.bytes - copy.real_bytes);
}
void copy_async(void *to, const void *from, size_t bytes, size_t real_bytes) {
    if (reinterpret_cast<uintptr_t>(to) % bytes || reinterpret_cast<uintptr_t>(from) % bytes) {
        fail("copies %zu bytes asynchronously from %p to %p, which are not both aligned", bytes,
             from, to);
    }
    late_copy copy = {to, from, bytes, real_bytes, current->copy_group};
    if (now.copies_late) {
        current->copies.push_back(copy);
    } else {
        do_copy(copy);
    }
}
void copy_commit() {
    current->copy_group++;
}
void copy_wait(unsigned newest_left) {
    std::vector<late_copy> &copies = current->copies;
    size_t done = 0;
    while (done < copies.size() && copies[done].group + newest_left < current->copy_group) {
        do_copy(copies[done++]);
    }
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(done));
}

/* Begins the block that was entered; its first thread to run. */
static thread *begin_block() {
    dim3 of = now.of->threads;
    unsigned count = of.x * of.y * of.z;
    uint64_t drawn = draw();
    now = block{now.of, count, 0, barrier::plain,         0,
                0,      0,     0, (drawn >> 20 & 3) == 0, (drawn >> 24 & 1) != 0};
    places[here]->begun = true;
    for (unsigned home = 0; home * warp_lanes < count; home++) {
        unsigned lanes = count - home * warp_lanes;
        uint32_t all = lanes < warp_lanes ? (1u << lanes) - 1 : 0xffffffffu;
        warps[home] = warp{all, 0, 0, 0, 0};
        make_ready(home, all);
    }
    for (unsigned i = 0; i < count; i++) {
        threads[i].stack = nullptr;
        threads[i].waits = nullptr;
        threads[i].copy_group = 0;
    }
    std::memset(dynamic_shared(), 0xff, now.of->shared);
    return pick(draw_below((count + warp_lanes - 1) / warp_lanes));
}

/* Runs the blocks that are alive, from the first of them on, until all are done. */
static void run_blocks() {
    rounds = 0;
    here = 0;
    now = places[0]->state;
    enter(0);
    make_current(begin_block());
    current->stack = fiber_take(begin_here);
    if (!current->stack) {
        fail("there is no memory for the stack of a thread");
    }
    fiber_switch(&process_stack, current->stack, false);
}

/* Room for so many blocks at once, whose threads are named. */
static void provide_places(size_t count, const grid &what) {
    dim3 of = what.threads;
    while (places.size() < count) {
        places.push_back(std::make_unique<place>());
        places.back()->shared_memory = make_shared_memory();
    }
    for (size_t p = 0; p < count; p++) {
        for (unsigned i = 0; i < of.x * of.y * of.z; i++) {
            thread &t = places[p]->threads[i];
            t.index = uint3{i % of.x, i / of.x % of.y, i / of.x / of.y};
            t.warp = i / warp_lanes;
            t.lane = i % warp_lanes;
        }
    }
    alive = count;
}

static void place_block(place &at, const grid &what, uint64_t number) {
    at.index = uint3{static_cast<unsigned>(number % what.blocks.x),
                     static_cast<unsigned>(number / what.blocks.x % what.blocks.y),
                     static_cast<unsigned>(number / what.blocks.x / what.blocks.y)};
    at.state = block{&what, 0, 0, barrier::plain, 0, 0, 0, 0, false, false};
    at.begun = at.over = false;
}

void run_grid(const grid &what) {
    process_stack = fiber{nullptr, nullptr, 0, nullptr, nullptr};
    blockDim = what.threads;
    gridDim = what.blocks;
    uint64_t count = static_cast<uint64_t>(what.blocks.x) * what.blocks.y * what.blocks.z;
    uint64_t first = draw() % count;
    bool down = draw() >> 40 & 1;
    provide_places(what.together ? count : 1, what);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = (down ? first + count - i : first + i) % count;
        place_block(*places[what.together ? i : 0], what, at);
        if (!what.together || i + 1 == count) {
            run_blocks();
        }
    }
    now.of = nullptr;
    current = nullptr;
}

} // namespace vv_emulated
