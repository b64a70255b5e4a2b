// veriroce-agent on hosts whose glibc is older than that of the build: the agent is built once and
// copied to hosts with other distributions.
//
// A program asks for the newest version of each glibc symbol that the build knows. Here the linker
// turns the symbols that are younger than glibc 2.25 (CMakeLists.txt lists them for --wrap) into
// __wrap_SYMBOL: the version that old and new glibc have, or a few lines of our own.
// cmake/glibc.cmake checks the result. Only x86-64; elsewhere the agent wants the glibc of the
// build.
//
// Source: the symbol versions of glibc 2.25 to 2.36 (readelf -V); its csu/libc-start.c, dlfcn.h.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>

// A jump to the symbol's old version. Until glibc 2.34 these functions were in libpthread.
// NOLINTBEGIN(hicpp-no-assembler,cppcoreguidelines-macro-usage)
#define VERIROCE_OLD_VERSION(NAME, VERSION)                                                        \
    asm(".symver veriroce_old_" #NAME ", " #NAME "@" VERSION "\n"                                  \
        ".pushsection .text\n"                                                                     \
        ".globl __wrap_" #NAME "\n"                                                                \
        ".hidden __wrap_" #NAME "\n"                                                               \
        ".type __wrap_" #NAME ", @function\n"                                                      \
        "__wrap_" #NAME ":\n"                                                                      \
        "endbr64\n"                                                                                \
        "jmp veriroce_old_" #NAME "@PLT\n"                                                         \
        ".size __wrap_" #NAME ", . - __wrap_" #NAME "\n"                                           \
        ".popsection\n")

VERIROCE_OLD_VERSION(pthread_create, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_join, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_detach, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_once, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_key_create, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(__pthread_key_create, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_key_delete, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_getspecific, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_setspecific, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_rwlock_rdlock, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_rwlock_wrlock, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_rwlock_unlock, "GLIBC_2.2.5");
VERIROCE_OLD_VERSION(pthread_condattr_setclock, "GLIBC_2.3.3");
VERIROCE_OLD_VERSION(pthread_sigmask, "GLIBC_2.2.5");
asm(".symver veriroce_old_libc_start_main, __libc_start_main@GLIBC_2.2.5");
// NOLINTEND(hicpp-no-assembler,cppcoreguidelines-macro-usage)

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's and glibc's.
extern "C" {

using Main = int(int, char**, char**);
using Initializer = void (*)(int, char**, char**);

extern const Initializer __init_array_start[];
extern const Initializer __init_array_end[];
void _init();

int veriroce_old_libc_start_main(Main* main, int argc, char** argv,
                                 int (*init)(int, char**, char**), void (*fini)(),
                                 void (*loader_fini)(), void* stack_end);

#define VERIROCE_HIDDEN __attribute__((visibility("hidden")))

// Since glibc 2.34 the start code of the build leaves the constructors to glibc; before, each
// program brought this function. A new glibc calls it as well, and nothing twice.
static int call_constructors(int argc, char** argv, char** environment) {
    _init();
    for (const Initializer* one = __init_array_start; one != __init_array_end; ++one)
        (*one)(argc, argv, environment);
    return 0;
}

VERIROCE_HIDDEN int __wrap___libc_start_main(Main* main, int argc, char** argv,
                                             int (* /*init*/)(int, char**, char**), void (*fini)(),
                                             void (*loader_fini)(), void* stack_end) {
    return veriroce_old_libc_start_main(main, argc, argv, &call_constructors, fini, loader_fini,
                                        stack_end);
}

// Functions of glibc 2.33; before, stat and its kin were part of each program.
VERIROCE_HIDDEN int __wrap_stat(const char* path, struct stat* status) {
    return static_cast<int>(syscall(SYS_stat, path, status));
}
VERIROCE_HIDDEN int __wrap_lstat(const char* path, struct stat* status) {
    return static_cast<int>(syscall(SYS_lstat, path, status));
}
VERIROCE_HIDDEN int __wrap_fstat(int descriptor, struct stat* status) {
    return static_cast<int>(syscall(SYS_fstat, descriptor, status));
}
VERIROCE_HIDDEN int __wrap_fstat64(int descriptor, struct stat* status) {
    return static_cast<int>(syscall(SYS_fstat, descriptor, status));
}

// Of glibc 2.36; std::random_device uses it.
VERIROCE_HIDDEN std::uint32_t __wrap_arc4random() {
    std::uint32_t value = 0;
    if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) std::abort();
    return value;
}

// Of glibc 2.32; libstdc++ leaves out atomic operations while it is true.
VERIROCE_HIDDEN char __libc_single_threaded = 0;

struct Search {
    std::uintptr_t address = 0;
    dl_find_object* found = nullptr;
};

// 1 if the address is in this object and the object has unwind tables, -1 if it has none.
static int look_in(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    const auto& search = *static_cast<const Search*>(data);
    bool inside = false;
    std::uintptr_t tables = 0;
    std::uintptr_t low = std::numeric_limits<std::uintptr_t>::max();
    std::uintptr_t high = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& header = object->dlpi_phdr[i];
        const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_GNU_EH_FRAME) tables = begin;
        if (header.p_type != PT_LOAD) continue;
        const std::uintptr_t end = begin + header.p_memsz;
        inside = inside || (search.address >= begin && search.address < end);
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    if (!inside) return 0;
    if (tables == 0) return -1;
    search.found->dlfo_map_start = reinterpret_cast<void*>(low);
    search.found->dlfo_map_end = reinterpret_cast<void*>(high);
    search.found->dlfo_link_map = nullptr; // the unwinder does not look at it
    search.found->dlfo_eh_frame = reinterpret_cast<void*>(tables);
    return 1;
}

// Of glibc 2.35; libgcc's unwinder asks it where an exception's handlers are.
VERIROCE_HIDDEN int __wrap__dl_find_object(void* address, dl_find_object* found) {
    Search search{.address = reinterpret_cast<std::uintptr_t>(address), .found = found};
    return dl_iterate_phdr(&look_in, &search) == 1 ? 0 : -1;
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
