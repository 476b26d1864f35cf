#include "fiber.h"
#include <cstdint>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#define VV_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VV_ASAN 1
#endif
#endif
#ifdef VV_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* vv_emulated_switch(save, to): pushes the registers that a call preserves, stores the stack
 * pointer at `save`, takes `to` for the stack pointer and pops. A new stack holds zeros for the
 * registers and the entry as the address to return to. */
extern "C" void vv_emulated_switch(void **save, void *to);
#if defined(__x86_64__)
asm(".text\n"
    ".p2align 4\n"
    ".hidden vv_emulated_switch\n"
    ".globl vv_emulated_switch\n"
    ".type vv_emulated_switch,@function\n"
    "vv_emulated_switch:\n"
    "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
    "    mov %rsp, (%rdi)\n"
    "    mov %rsi, %rsp\n"
    "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
    "    ret\n"
    ".size vv_emulated_switch, .-vv_emulated_switch\n");
static constexpr size_t saved_words = 8, return_word = 6; /* one more, so that `entry` is aligned */
#elif defined(__aarch64__)
asm(".text\n"
    ".p2align 4\n"
    ".hidden vv_emulated_switch\n"
    ".globl vv_emulated_switch\n"
    ".type vv_emulated_switch,%function\n"
    "vv_emulated_switch:\n"
    "    sub sp, sp, #160\n"
    "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
    "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
    "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
    "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
    "    mov x9, sp\n"
    "    str x9, [x0]\n"
    "    mov sp, x1\n"
    "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
    "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
    "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
    "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
    "    add sp, sp, #160\n"
    "    ret\n"
    ".size vv_emulated_switch, .-vv_emulated_switch\n");
static constexpr size_t saved_words = 20, return_word = 11;
#else
#error "the emulated CUDA device switches stacks on x86-64 and AArch64 alone"
#endif

namespace vv_emulated {

/* Frames of kernels that are sanitised or not optimised are many times as large. */
#if defined(VV_ASAN) || defined(VV_LARGE_FRAMES)
static constexpr size_t stack_bytes = 1 << 20;
#else
static constexpr size_t stack_bytes = 64 << 10;
#endif
static constexpr size_t guard_bytes = 64 << 10; /* the largest page of AArch64 */

static fiber *idle;

static fiber *fiber_make() {
    void *memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    mprotect(memory, guard_bytes, PROT_NONE);
    char *bottom = static_cast<char *>(memory) + guard_bytes;
    /* What describes a stack lies at its upper end. */
    size_t own = (sizeof(fiber) + 63) / 64 * 64;
    fiber *made = reinterpret_cast<fiber *>(bottom + stack_bytes - own);
    *made = fiber{nullptr, bottom, stack_bytes - own, nullptr, nullptr};
    return made;
}

fiber *fiber_take(void (*entry)()) {
    fiber *of = idle;
    if (of) {
        idle = of->next;
    } else {
        of = fiber_make();
        if (!of) {
            return nullptr;
        }
    }
#ifdef VV_ASAN
    /* Whoever had it ended in its entry: all frames but the uppermost were left, which unmarks
     * them. */
    constexpr size_t uppermost = 64 << 10;
    __asan_unpoison_memory_region(of->bottom + of->bytes - uppermost, uppermost);
#endif
    of->fake = nullptr;
    void **frame = reinterpret_cast<void **>(of->bottom + of->bytes) - saved_words - 2;
    for (size_t i = 0; i < saved_words + 2; i++) {
        frame[i] = nullptr;
    }
    frame[return_word] = reinterpret_cast<void *>(entry);
    of->at = frame;
    return of;
}

void fiber_give(fiber *of) {
    of->next = idle;
    idle = of;
}

#ifdef VV_ASAN
static fiber *came_from; /* whose stack's bounds are to be learnt from the switch */
#endif

void fiber_entered() {
#ifdef VV_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (came_from && !came_from->bytes) { /* the process's own */
        came_from->bottom = static_cast<char *>(const_cast<void *>(bottom));
        came_from->bytes = bytes;
    }
#endif
}

void fiber_switch(fiber *from, fiber *to, bool last) {
    (void)last;
#ifdef VV_ASAN
    came_from = from;
    __sanitizer_start_switch_fiber(last ? nullptr : &from->fake, to->bottom, to->bytes);
#endif
    vv_emulated_switch(&from->at, to->at);
#ifdef VV_ASAN
    __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#endif
}

} // namespace vv_emulated
