/* Calls functions of a library for what comes through the standard input, until it ends; see emulated.py.
 *
 * Each block of memory ends where a page begins that nobody may touch.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_BLOCKS = 512, PAGE = 1 << 16 };

static int get(void *to, size_t num) { return num == 0 || fread(to, num, 1, stdin) == 1; }

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    char name[64], *blocks[MAX_BLOCKS], *maps[MAX_BLOCKS];
    int64_t num_blocks, num_pointers, sizes[MAX_BLOCKS], pointer[4];
    if (!library) return 1;
    while (get(name, sizeof name)) {
        int (*function)(void *) = (int (*)(void *))dlsym(library, name);
        if (!function || !get(&num_blocks, 8) || num_blocks > MAX_BLOCKS || !get(sizes, 8 * (size_t)num_blocks)) return 2;
        for (int64_t i = 0; i < num_blocks; i++) {
            const int64_t room = (sizes[i] + PAGE - 1) / PAGE * PAGE;
            maps[i] = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            blocks[i] = maps[i] + room - sizes[i];
            if (maps[i] == MAP_FAILED || mprotect(maps[i] + room, PAGE, PROT_NONE) || !get(blocks[i], sizes[i])) return 3;
        }
        if (!get(&num_pointers, 8)) return 4;
        for (int64_t i = 0; i < num_pointers; i++) {
            if (!get(pointer, sizeof pointer)) return 5;
            char *to = blocks[pointer[2]] + pointer[3];
            memcpy(blocks[pointer[0]] + pointer[1], &to, sizeof to);
        }
        const int64_t result = function(blocks[0]);
        fwrite(&result, sizeof result, 1, stdout);
        for (int64_t i = 0; i < num_blocks; i++) {
            fwrite(blocks[i], 1, sizes[i], stdout);
            munmap(maps[i], (sizes[i] + PAGE - 1) / PAGE * PAGE + PAGE);
        }
        fflush(stdout);
    }
    return 0;
}
