/* The C ABI of Shared-Arena. Written by cbindgen from rust/capi: change it there, then run
 * cargo run --manifest-path rust/dev/Cargo.toml -- header
 *
 * Calls take handles that live until their *_release, and may be made from any thread. Status codes and structures
 * are only ever appended to; SA_ABI_VERSION changes with anything else.
 */

#ifndef SHARED_ARENA_H
#define SHARED_ARENA_H

#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>

/*
 Changes when a caller compiled against an older header can no longer call this library.
 */
#define SA_ABI_VERSION 2

/*
 Largest size of an arena, in bytes.
 */
#define SA_MAX_ARENA_SIZE 70368744177664

/*
 Most regions of an arena.
 */
#define SA_MAX_REGIONS 65536

/*
 Longest name of a region, in bytes.
 */
#define SA_MAX_REGION_NAME 31

/*
 Longest name of an arena, in bytes.
 */
#define SA_MAX_ARENA_NAME 200

/*
 Most slots of a map or limiter.
 */
#define SA_MAX_SLOTS 2147483648

/*
 Smallest slot_size of a map, in bytes.
 */
#define SA_MIN_SLOT_SIZE 33

/*
 Largest slot_size of a map, in bytes.
 */
#define SA_MAX_SLOT_SIZE 1073741824

/*
 Largest limit of a limiter, in requests.
 */
#define SA_MAX_LIMIT 1e9

/*
 Smallest limit of a limiter.
 */
#define SA_MIN_LIMIT 1e-9

/*
 Longest window of a limiter, in seconds: ten years.
 */
#define SA_MAX_WINDOW 315576000.0

/*
 Shortest window of a limiter, in seconds.
 */
#define SA_MIN_WINDOW 1e-9

/*
 Bytes of an error's text, the NUL that ends it among them.
 */
#define SA_ERROR_TEXT 500

/*
 The time to live of an entry that never lapses.
 */
#define SA_TTL_NONE 0

/*
 A time that never comes.
 */
#define SA_NEVER UINT64_MAX

/*
 Most open things in each other in a document.
 */
#define SA_MAX_DEPTH 10000

/*
 Most bytes that a document may have read once more (copied strings, keys and class names), for each of its own.
 */
#define SA_COPIED_PER_BYTE 64

/*
 And for a document of any length.
 */
#define SA_COPIED_ANYWAY 1048576

/*
 The item is a weak reference.
 */
#define SA_ITEM_WEAK 1

/*
 The string, or the pattern of the regular expression, is said to be UTF-8; nothing has checked that.
 */
#define SA_ITEM_UTF8 2

/*
 The item is a value of a hash: `key_start` and `key_length` are its key.
 */
#define SA_ITEM_KEY 4

/*
 The key is said to be UTF-8.
 */
#define SA_ITEM_KEY_UTF8 8

/*
 The item, a reference, makes an object of what it refers to: `class_start` and `class_length` are its class, which is
 never empty.
 */
#define SA_ITEM_CLASS 16

/*
 The class is said to be UTF-8.
 */
#define SA_ITEM_CLASS_UTF8 32

/*
 The `track` of what nothing refers to later.
 */
#define SA_UNTRACKED 4294967295

/*
 Longest string that `sa_short_text` makes a document of, in bytes.
 */
#define SA_SHORT_TEXT 31

/*
 Room for such a document.
 */
#define SA_SHORT_DOCUMENT 38

/*
 What kind of value was fetched.
 */
typedef enum sa_kind {
  /*
   `length` bytes were written.
   */
  SA_KIND_BYTES = 0,
  /*
   A value that is there and undefined.
   */
  SA_KIND_UNDEF = 1,
  /*
   A counter: its `number`.
   */
  SA_KIND_COUNTER = 2,
} sa_kind;

/*
 What an item is. Those that open are followed by what lies in them, at one depth more.
 */
typedef enum sa_item_kind {
  /*
   The undefined value.
   */
  SA_ITEM_UNDEF = 0,
  /*
   The undefined value of the language itself; in an array, an element that is not there.
   */
  SA_ITEM_HOLE = 1,
  /*
   False.
   */
  SA_ITEM_FALSE = 2,
  /*
   True.
   */
  SA_ITEM_TRUE = 3,
  /*
   An integer: `number.whole`.
   */
  SA_ITEM_SIGNED = 4,
  /*
   An integer above INT64_MAX: `number.positive`.
   */
  SA_ITEM_UNSIGNED = 5,
  /*
   A floating-point number: `number.real`.
   */
  SA_ITEM_REAL = 6,
  /*
   A string: `start`, `length`, SA_ITEM_UTF8.
   */
  SA_ITEM_TEXT = 7,
  /*
   A reference to a scalar. Opens: the scalar is the next item.
   */
  SA_ITEM_REF = 8,
  /*
   A reference to an array of `length` elements; `referent_track`. Opens, unless it is empty.
   */
  SA_ITEM_ARRAY_REF = 9,
  /*
   A reference to a hash of `length` pairs; `referent_track`. Opens, unless it is empty. The same key may come twice.
   */
  SA_ITEM_HASH_REF = 10,
  /*
   A reference to a regular expression: `start`, `length`, SA_ITEM_UTF8, `modifiers_start`, `modifiers_length`,
   `referent_track`.
   */
  SA_ITEM_REGEXP_REF = 11,
  /*
   A reference to what was tracked as `target`, which may be this very item.
   */
  SA_ITEM_SAME = 12,
  /*
   No scalar of its own, but the one that was tracked as `target` once more. It has no `track`, is never the whole
   document, and is never weak or blessed.
   */
  SA_ITEM_ALIAS = 13,
} sa_item_kind;

/*
 An arena, open in this process.
 */
typedef struct sa_arena sa_arena;

/*
 A map, bound in this process. It keeps its arena's mapping.
 */
typedef struct sa_map sa_map;

/*
 A limiter, bound in this process. It keeps its arena's mapping.
 */
typedef struct sa_rate sa_rate;

/*
 A reader of documents, one after the other. It keeps up to 1 MiB of memory from one to the next.
 */
typedef struct sa_reader sa_reader;

/*
 A writer of documents, one after the other. Whoever holds it says what there is, in the order of the format. None of
 its calls fails: what goes beyond the limit is counted and dropped, so that the caller can look at the rest of its
 structure, and `sa_writer_finish` tells.
 */
typedef struct sa_writer sa_writer;

/*
 How a call ended: one of the `SA_…` codes below.
 */
typedef int32_t sa_status;

/*
 Why a call failed. Filled whenever a function that takes one returns SA_OVERFLOW, SA_BUSY, SA_SHAPE,
 SA_INVALID, SA_SYSTEM, SA_CORRUPT or SA_INTERNAL, or SA_FULL from carving or binding.
 */
typedef struct sa_error {
  /*
   What the call has waited in its turns, in nanoseconds: 0 before the first. Only read and written where the
   process waits in turns, as are the next three.
   */
  uint64_t waited_ns;
  /*
   How much of that was for the present holder of the lock.
   */
  uint64_t held_ns;
  /*
   That holder: the kernel's id of a thread.
   */
  uint32_t holder;
  /*
   Which lock it holds.
   */
  size_t lock;
  /*
   The code that was returned.
   */
  sa_status status;
  /*
   Bytes of text, without the NUL.
   */
  uint32_t length;
  /*
   UTF-8, ended by a NUL, cut to fit.
   */
  char text[SA_ERROR_TEXT];
} sa_error;

/*
 A fetched value.
 */
typedef struct sa_value {
  /*
   One of `sa_kind`.
   */
  uint32_t kind;
  /*
   Bytes of the value; with SA_SHORT, the bytes the caller's buffer must hold.
   */
  uint32_t length;
  /*
   A counter's number.
   */
  int64_t number;
} sa_value;

/*
 A map's statistics, exact while no call is in flight.
 */
typedef struct sa_map_figures {
  /*
   Entries, lapsed ones that nobody has collected among them.
   */
  uint64_t used;
  /*
   Entries the map takes.
   */
  uint64_t capacity;
  /*
   Slots that were used and are free again.
   */
  uint64_t tombstones;
  /*
   Calls that gave up.
   */
  uint64_t busy;
  /*
   New keys refused for want of a slot.
   */
  uint64_t full;
  /*
   Lapsed entries collected.
   */
  uint64_t expired;
} sa_map_figures;

/*
 What an HTTP response tells a client about its bucket, in whole requests and seconds.
 */
typedef struct sa_rate_outlook {
  /*
   Requests a full bucket holds, rounded down.
   */
  uint64_t limit;
  /*
   Requests the bucket holds now, rounded down.
   */
  uint64_t remaining;
  /*
   Seconds until the bucket is full, rounded up.
   */
  uint64_t reset;
  /*
   Seconds until the cost can be paid, rounded up: 0 when it can be now, SA_NEVER when it never can.
   */
  uint64_t retry_after;
} sa_rate_outlook;

/*
 A limiter's policy and statistics, exact while no call is in flight.
 */
typedef struct sa_rate_figures {
  /*
   Requests a full bucket holds.
   */
  double limit;
  /*
   Seconds in which an empty bucket fills.
   */
  double window;
  /*
   Keys the table holds.
   */
  uint64_t slots;
  /*
   Buckets that are not full.
   */
  uint64_t keys;
  /*
   Checks that said yes.
   */
  uint64_t allowed;
  /*
   Checks that said no.
   */
  uint64_t denied;
  /*
   Buckets taken over while still in use.
   */
  uint64_t evicted;
  /*
   Checks that gave up and were allowed.
   */
  uint64_t contended;
} sa_rate_figures;

/*
 A number, by the item's kind.
 */
typedef union sa_number {
  /*
   Of SA_ITEM_SIGNED.
   */
  int64_t whole;
  /*
   Of SA_ITEM_UNSIGNED.
   */
  uint64_t positive;
  /*
   Of SA_ITEM_REAL.
   */
  double real;
} sa_number;

/*
 One scalar of a document, and what is said of it. All ranges lie in the document. Fields that neither the kind nor a
 flag names mean nothing, but for `kind`, `depth`, `flags`, `track`, `referent_track` and `at`, which always do.
 */
typedef struct sa_item {
  /*
   One of `sa_item_kind`.
   */
  uint32_t kind;
  /*
   How many open things it lies in, at most SA_MAX_DEPTH. Its parent is the last item before it of one less that
   opened; 0 is the whole document.
   */
  uint32_t depth;
  /*
   SA_ITEM_WEAK and so on, added up.
   */
  uint32_t flags;
  /*
   The number under which later items refer to the scalar itself, or SA_UNTRACKED. Numbers are dealt from 0 on, in the
   order of the document, and within an item `track` before `referent_track`.
   */
  uint32_t track;
  /*
   The number under which they refer to the array, hash or regular expression it refers to, or SA_UNTRACKED.
   */
  uint32_t referent_track;
  /*
   The number of what is meant: one that was dealt to an item before, or to this one's `track`.
   */
  uint32_t target;
  /*
   Where its tag stands, in bytes from the document's first.
   */
  uint32_t at;
  /*
   The key: its first byte, from the document's first on.
   */
  uint32_t key_start;
  /*
   Bytes of the key.
   */
  uint32_t key_length;
  /*
   The class: its first byte.
   */
  uint32_t class_start;
  /*
   Bytes of the class.
   */
  uint32_t class_length;
  /*
   The string or pattern: its first byte.
   */
  uint32_t start;
  /*
   Bytes of the string or pattern; elements of the array; pairs of the hash. All elements and pairs that have been
   promised and have not come are never more than the bytes that are left.
   */
  uint32_t length;
  /*
   The modifiers: their first byte.
   */
  uint32_t modifiers_start;
  /*
   Bytes of the modifiers.
   */
  uint32_t modifiers_length;
  /*
   The number.
   */
  union sa_number number;
} sa_item;

/*
 Done.
 */
#define SA_OK 0

/*
 No arena, region or key of that name.
 */
#define SA_ABSENT 1

/*
 No room.
 */
#define SA_FULL 2

/*
 The key is empty, or key and value are larger than `sa_map_max_pair`.
 */
#define SA_TOO_LARGE 3

/*
 The key holds a value that is no counter.
 */
#define SA_NOT_COUNTER 4

/*
 The counter would leave the signed 64-bit range.
 */
#define SA_OVERFLOW 5

/*
 Somebody held a lock for too long, or an entry kept changing.
 */
#define SA_BUSY 6

/*
 The caller's buffer is too small.
 */
#define SA_SHORT 7

/*
 The name is carved already with another type or shape.
 */
#define SA_SHAPE 8

/*
 An argument out of its range.
 */
#define SA_INVALID 9

/*
 The operating system refused.
 */
#define SA_SYSTEM 10

/*
 Memory that this build cannot use, or that was written over.
 */
#define SA_CORRUPT 11

/*
 A bug in this library.
 */
#define SA_INTERNAL 12

/*
 Somebody holds a lock, and the process waits in turns (`sa_wait_in_turns`): nothing has happened. Handle signals,
 then make the same call with the same `sa_error`.
 */
#define SA_AGAIN 13

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version this library was built with: compare it with SA_ABI_VERSION.
 */
uint32_t sa_abi_version(void);

/*
 Whether this processor has the 16-byte compare-and-swap that arenas need; without it none can be opened.
 */
bool sa_have_atomics(void);

/*
 Makes an arena of `size` bytes for `regions` regions, or opens the one of that name. A null `name` makes one
 without a name, for forked children.

 # Safety
 `name` is null or points at `name_len` bytes; `out` is writable; `err` is null or writable.
 */
sa_status sa_arena_create(const char *name,
                          size_t name_len,
                          uint64_t size,
                          uint32_t regions,
                          struct sa_arena **out,
                          struct sa_error *err);

/*
 Opens the arena of that name: SA_ABSENT when there is none.

 # Safety
 As `sa_arena_create`; `name` is not null.
 */
sa_status sa_arena_attach(const char *name, size_t name_len, struct sa_arena **out, struct sa_error *err);

/*
 Removes a name: SA_OK when it was there, SA_ABSENT when not.

 # Safety
 As `sa_arena_attach`.
 */
sa_status sa_arena_destroy(const char *name, size_t name_len, struct sa_error *err);

/*
 Gives a handle up. The mapping goes when no map or limiter uses it either.

 # Safety
 `arena` came from this library and is not used afterwards.
 */
void sa_arena_release(struct sa_arena *arena);

/*
 The bytes that regions may take: what `create` was asked for.

 # Safety
 `arena` is a live handle.
 */
uint64_t sa_arena_size(const struct sa_arena *arena);

/*
 Whether this very handle's call made the arena.

 # Safety
 `arena` is a live handle.
 */
bool sa_arena_created(const struct sa_arena *arena);

/*
 The name, not ended by a NUL; null for an arena without one. It lives as long as the handle.

 # Safety
 `arena` is a live handle; `len` is writable.
 */
const char *sa_arena_name(const struct sa_arena *arena, size_t *len);

/*
 The address of the mapping in this process.

 # Safety
 `arena` is a live handle.
 */
uint64_t sa_arena_base(const struct sa_arena *arena);

/*
 Registry entries that point outside the mapping: 0 unless memory was written over.

 # Safety
 `arena` is a live handle.
 */
uint64_t sa_arena_refused(const struct sa_arena *arena);

/*
 How many regions have been carved.

 # Safety
 `arena` is a live handle.
 */
uint32_t sa_arena_region_count(const struct sa_arena *arena);

/*
 The name of the region carved `index`-th, from 0: at most 31 bytes into `out`. SA_ABSENT past the end, and for
 an entry that was written over.

 # Safety
 `arena` is a live handle; `out` holds 32 bytes; `len` is writable.
 */
sa_status sa_arena_region_name(const struct sa_arena *arena,
                               uint32_t index,
                               char *out,
                               uint32_t *len);

/*
 Finds a region of any kind: SA_ABSENT when there is none of that name.

 # Safety
 `arena` is a live handle; `name` points at `len` bytes; `offset` and `length` are writable.
 */
sa_status sa_region_find(const struct sa_arena *arena,
                         const char *name,
                         size_t len,
                         uint64_t *offset,
                         uint64_t *length);

/*
 Carves a region of `size` raw bytes, or finds the one of that name and size. SA_FULL, SA_INVALID, SA_SHAPE.

 # Safety
 As `sa_region_find`; `err` is null or writable.
 */
sa_status sa_region_carve(const struct sa_arena *arena,
                          const char *name,
                          size_t len,
                          uint64_t size,
                          uint64_t *offset,
                          uint64_t *length,
                          struct sa_error *err);

/*
 Writes `n` bytes into a region. SA_INVALID when they do not lie inside it, or it does not exist.

 # Safety
 `arena` is a live handle; `name` points at `len` bytes and `from` at `n`; `err` is null or writable.
 */
sa_status sa_region_poke(const struct sa_arena *arena,
                         const char *name,
                         size_t len,
                         uint64_t offset,
                         const uint8_t *from,
                         size_t n,
                         struct sa_error *err);

/*
 Reads `n` bytes out of a region into `out`. Otherwise as `sa_region_poke`.

 # Safety
 As `sa_region_poke`; `out` holds `n` bytes.
 */
sa_status sa_region_peek(const struct sa_arena *arena,
                         const char *name,
                         size_t len,
                         uint64_t offset,
                         uint8_t *out,
                         size_t n,
                         struct sa_error *err);

/*
 Lets every call of this process that must wait for a lock return SA_AGAIN after a turn of a few milliseconds, so
 that its caller can handle signals meanwhile. Without it, calls wait by themselves.
 */
void sa_wait_in_turns(bool on);

/*
 The map of that name, carved now if nobody has. SA_INVALID, SA_FULL, SA_SHAPE, SA_CORRUPT.

 # Safety
 `arena` is a live handle; `name` points at `len` bytes; `out` is writable; `err` is null or writable.
 */
sa_status sa_map_bind(const struct sa_arena *arena,
                      const char *name,
                      size_t len,
                      uint64_t slots,
                      uint64_t slot_size,
                      bool serialise,
                      struct sa_map **out,
                      struct sa_error *err);

/*
 Gives a handle up.

 # Safety
 `map` came from this library and is not used afterwards.
 */
void sa_map_release(struct sa_map *map);

/*
 Stores a value; a null `value` stores an undefined one. `ttl_ms` is the time to live in milliseconds, or
 SA_TTL_NONE. SA_OK, SA_FULL, SA_TOO_LARGE; SA_BUSY and SA_CORRUPT with a text.

 # Safety
 `map` is a live handle; `key` points at `key_len` bytes; `value` is null or points at `value_len` bytes; `err`
 is null or writable.
 */
sa_status sa_map_store(const struct sa_map *map,
                       const uint8_t *key,
                       size_t key_len,
                       const uint8_t *value,
                       size_t value_len,
                       uint64_t ttl_ms,
                       struct sa_error *err);

/*
 Fetches a value into `out`. SA_OK, SA_ABSENT; SA_SHORT when the value has more bytes than `capacity`: then
 `value->length` tells how many, and nothing was written; SA_BUSY when the entry kept changing.

 # Safety
 `map` is a live handle; `key` points at `key_len` bytes; `out` holds `capacity` bytes; `value` is writable.
 */
sa_status sa_map_fetch(const struct sa_map *map,
                       const uint8_t *key,
                       size_t key_len,
                       uint8_t *out,
                       size_t capacity,
                       struct sa_value *value);

/*
 Whether a key is there.

 # Safety
 `map` is a live handle; `key` points at `key_len` bytes.
 */
bool sa_map_exists(const struct sa_map *map, const uint8_t *key, size_t key_len);

/*
 Removes a key. SA_OK when it was there, SA_ABSENT when not; SA_BUSY and SA_CORRUPT with a text.

 # Safety
 As `sa_map_exists`; `err` is null or writable.
 */
sa_status sa_map_delete(const struct sa_map *map, const uint8_t *key, size_t key_len, struct sa_error *err);

/*
 Adds to a counter, making it, with its time to live, when it is absent. SA_OK, SA_FULL, SA_TOO_LARGE,
 SA_NOT_COUNTER; SA_OVERFLOW, SA_INVALID (a serialised map), SA_BUSY and SA_CORRUPT with a text.

 # Safety
 As `sa_map_delete`; `now` is writable.
 */
sa_status sa_map_incr(const struct sa_map *map,
                      const uint8_t *key,
                      size_t key_len,
                      int64_t by,
                      uint64_t ttl_ms,
                      int64_t *now,
                      struct sa_error *err);

/*
 Adds to a counter that is there: what `sa_map_incr` does first, for itself. False when that has to decide, and then
 nothing has changed. Takes no lock.

 # Safety
 As `sa_map_exists`; `now` is writable.
 */
bool sa_map_count(const struct sa_map *map,
                  const uint8_t *key,
                  size_t key_len,
                  int64_t by,
                  int64_t *now);

/*
 A counter's number. SA_ABSENT also when the key holds something else.

 # Safety
 As `sa_map_exists`; `now` is writable.
 */
sa_status sa_map_counter(const struct sa_map *map, const uint8_t *key, size_t key_len, int64_t *now);

/*
 The next live key, from `*cursor` on, which starts at 0 and moves. SA_ABSENT at the end.

 # Safety
 `map` is a live handle; `cursor` and `len` are writable; `out` holds `capacity` bytes, and `sa_map_max_pair` are
 always enough.
 */
sa_status sa_map_next_key(const struct sa_map *map,
                          uint64_t *cursor,
                          uint8_t *out,
                          size_t capacity,
                          size_t *len);

/*
 Largest key and value together, in bytes.

 # Safety
 `map` is a live handle.
 */
uint64_t sa_map_max_pair(const struct sa_map *map);

/*
 Entries the map takes.

 # Safety
 `map` is a live handle.
 */
uint64_t sa_map_capacity(const struct sa_map *map);

/*
 Whether values are encoded structures.

 # Safety
 `map` is a live handle.
 */
bool sa_map_serialised(const struct sa_map *map);

/*
 The statistics: SA_OK.

 # Safety
 `map` is a live handle; `out` is writable; `err` is null or writable.
 */
sa_status sa_map_stats(const struct sa_map *map, struct sa_map_figures *out, struct sa_error *err);

/*
 Checks every invariant of a map that nobody is writing: SA_OK, or SA_CORRUPT with the first problem.

 # Safety
 `map` is a live handle; `err` is null or writable.
 */
sa_status sa_map_verify(const struct sa_map *map, struct sa_error *err);

/*
 The limiter of that name, carved now if nobody has. `slots` are rounded up to a power of two, at least 64.
 SA_INVALID, SA_FULL, SA_SHAPE, SA_CORRUPT.

 # Safety
 `arena` is a live handle; `name` points at `len` bytes; `out` is writable; `err` is null or writable.
 */
sa_status sa_rate_bind(const struct sa_arena *arena,
                       const char *name,
                       size_t len,
                       double limit,
                       double window,
                       uint64_t slots,
                       struct sa_rate **out,
                       struct sa_error *err);

/*
 Gives a handle up.

 # Safety
 `rate` came from this library and is not used afterwards.
 */
void sa_rate_release(struct sa_rate *rate);

/*
 Spends `cost` requests of the key's bucket if it holds them; true when it did. `cost` is finite and not
 negative, here and below. A cost above the limit is never allowed. Constant time, without a lock, as are all calls
 that are given a key.

 # Safety
 `rate` is a live handle; `key` points at `key_len` bytes.
 */
bool sa_rate_allow(const struct sa_rate *rate,
                   const uint8_t *key,
                   size_t key_len,
                   double cost);

/*
 How many requests of that cost the key could make now; infinitely many of cost 0. The whole part is exact, the rest
 rounded down. Spends and writes nothing.

 # Safety
 As `sa_rate_allow`.
 */
double sa_rate_remaining(const struct sa_rate *rate,
                         const uint8_t *key,
                         size_t key_len,
                         double cost);

/*
 Seconds until that cost is allowed: 0 when it is now, infinite when it never will be. Writes nothing.

 # Safety
 As `sa_rate_allow`.
 */
double sa_rate_retry_after(const struct sa_rate *rate, const uint8_t *key, size_t key_len, double cost);

/*
 What a response should say of the key's bucket, all of one moment; `retry_after` is for that cost. Spends and writes
 nothing.

 # Safety
 As `sa_rate_allow`; `out` is writable.
 */
void sa_rate_look(const struct sa_rate *rate,
                  const uint8_t *key,
                  size_t key_len,
                  double cost,
                  struct sa_rate_outlook *out);

/*
 Fills the key's bucket; true when it had one.

 # Safety
 As `sa_rate_allow`.
 */
bool sa_rate_reset(const struct sa_rate *rate, const uint8_t *key, size_t key_len);

/*
 Gives the key's slot back; true when it had one.

 # Safety
 As `sa_rate_allow`.
 */
bool sa_rate_forget(const struct sa_rate *rate, const uint8_t *key, size_t key_len);

/*
 Keys the table holds.

 # Safety
 `rate` is a live handle.
 */
uint64_t sa_rate_slots(const struct sa_rate *rate);

/*
 Policy and statistics. Walks the whole table.

 # Safety
 `rate` is a live handle; `out` is writable.
 */
void sa_rate_stats(const struct sa_rate *rate, struct sa_rate_figures *out);

/*
 Whether a document is a string and nothing else, as the short ones often are: then its bytes are told, and whether they
 are said to be UTF-8. Any other document, a damaged one among them, is for a reader.

 # Safety
 `document` points at `length` bytes; `start`, `text_length` and `utf8` are writable.
 */
bool sa_document_text(const uint8_t *document,
                      size_t length,
                      size_t *start,
                      size_t *text_length,
                      bool *utf8);

/*
 A reader that has begun no document.
 */
struct sa_reader *sa_reader_new(void);

/*
 Gives a reader up.

 # Safety
 `reader` came from this library and is not used afterwards.
 */
void sa_reader_release(struct sa_reader *reader);

/*
 Begins a document: reads its header, and forgets the last document. SA_OK, or SA_CORRUPT with a text: "byte 4: Sereal
 version 6, which is not supported".

 # Safety
 `reader` is live, and no other thread uses it; `document` points at `length` bytes that nobody writes meanwhile;
 `err` is null or writable.
 */
sa_status sa_reader_begin(struct sa_reader *reader,
                          const uint8_t *document,
                          size_t length,
                          struct sa_error *err);

/*
 The next items of the document that was begun, which must be the same bytes as then: at most `room`, and fewer only
 when these are the last of a document that is in order. SA_OK; SA_CORRUPT with a text, again and again.

 # Safety
 As `sa_reader_begin`; `items` has room for that many, which was filled with zeros or by this function; `count` is
 writable.
 */
sa_status sa_reader_read(struct sa_reader *reader,
                         const uint8_t *document,
                         size_t length,
                         struct sa_item *items,
                         size_t room,
                         size_t *count,
                         struct sa_error *err);

/*
 Freezes the wall clock (nanoseconds since 1970), the monotonic clock, both or neither, for this process.
 */
void sa_test_set_clock(bool wall_frozen, uint64_t wall_ns, bool mono_frozen, uint64_t mono_ns);

/*
 How often this process has read a clock since it first called sa_test_set_clock.
 */
uint64_t sa_test_clock_reads(void);

/*
 How long this process waits for a lock somebody holds, in milliseconds.
 */
void sa_test_lock_patience(uint64_t ms);

/*
 Whether this build has failpoints.
 */
bool sa_test_failpoints(void);

/*
 The name of the failpoint with that number, from 0, not ended by a NUL; null past the last.

 # Safety
 `len` is writable.
 */
const char *sa_test_failpoint_name(uint32_t index, size_t *len);

/*
 Arms one failpoint: 0 nothing, 1 SIGKILL, 2 SIGSTOP. SA_INVALID for an unknown name or action, and in a build
 without failpoints.

 # Safety
 `name` points at `len` bytes; `err` is null or writable.
 */
sa_status sa_test_failpoint(const char *name, size_t len, uint32_t action, struct sa_error *err);

/*
 The document of a short string that is not said to be UTF-8, made without a writer: its length; 0 for a string that
 is longer.

 # Safety
 `start` points at `length` bytes; `document` has room for SA_SHORT_DOCUMENT.
 */
size_t sa_short_text(const uint8_t *start,
                     size_t length,
                     uint8_t *document);

/*
 A writer that has begun no document.
 */
struct sa_writer *sa_writer_new(void);

/*
 Gives a writer up.

 # Safety
 `writer` came from this library and is not used afterwards.
 */
void sa_writer_release(struct sa_writer *writer);

/*
 Begins a document of at most `limit` bytes, its header among them, and forgets the last. A writer keeps up to 1 MiB of
 memory from one document to the next.

 # Safety
 `writer` is live, and no other thread uses it, here and below.
 */
void sa_writer_begin(struct sa_writer *writer,
                     size_t limit);

/*
 The document, which lives until the next begin or release; null when it is larger than the limit.

 # Safety
 As `sa_writer_begin`; `length` is writable.
 */
const uint8_t *sa_writer_finish(const struct sa_writer *writer, size_t *length);

/*
 The offset of the next tag, as the format counts: 1 is the first byte of the body. It goes on counting beyond the
 limit.

 # Safety
 As `sa_writer_begin`.
 */
size_t sa_writer_position(const struct sa_writer *writer);

/*
 The undefined value.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_undef(struct sa_writer *writer);

/*
 An element of an array that is not there.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_hole(struct sa_writer *writer);

/*
 A boolean.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_boolean(struct sa_writer *writer, bool truth);

/*
 An integer.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_signed(struct sa_writer *writer, int64_t number);

/*
 An integer that is not negative.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_unsigned(struct sa_writer *writer, uint64_t number);

/*
 A floating-point number, in 4 bytes where these hold exactly it, else in 8. A NaN keeps its bits.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_real(struct sa_writer *writer, double number);

/*
 A string: a value, or a key of a hash. Whether its bytes are UTF-8 when `utf8` says so is the caller's to know.

 # Safety
 As `sa_writer_begin`; `start` points at `length` bytes.
 */
void sa_writer_text(struct sa_writer *writer,
                    const uint8_t *start,
                    size_t length,
                    bool utf8);

/*
 The string whose tag stands at `offset`, once more.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_copy(struct sa_writer *writer, size_t offset);

/*
 An array whose `count` elements follow. `referred`: the reference to it is said here too; else sa_writer_reference
 stands before it.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_array(struct sa_writer *writer,
                     size_t count,
                     bool referred);

/*
 A hash whose `count` pairs follow, each a string and a value. `referred` as for sa_writer_array.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_hash(struct sa_writer *writer, size_t count, bool referred);

/*
 A reference to what follows.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_reference(struct sa_writer *writer);

/*
 A reference to what stands at `offset`. An offset where nothing can stand is written all the same, here and below.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_same(struct sa_writer *writer,
                    size_t offset);

/*
 The scalar that stands at `offset`, in a second place.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_alias(struct sa_writer *writer, size_t offset);

/*
 Says of the reference that follows that it is weak. It stands before the reference's class, if there is one.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_weaken(struct sa_writer *writer);

/*
 Takes back what sa_writer_weaken said at `offset`: that reference is strong.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_strengthen(struct sa_writer *writer, size_t offset);

/*
 Says of the reference that follows that it makes an object of that class. For sa_writer_class_again, the name stands
 at the position before the call and one.

 # Safety
 As `sa_writer_begin`; `start` points at `length` bytes.
 */
void sa_writer_class(struct sa_writer *writer,
                     const uint8_t *start,
                     size_t length,
                     bool utf8);

/*
 The same, of the class whose name stands at `offset`.

 # Safety
 As `sa_writer_begin`.
 */
void sa_writer_class_again(struct sa_writer *writer, size_t offset);

/*
 A regular expression; sa_writer_reference stands before it. `utf8` is about the pattern.

 # Safety
 As `sa_writer_begin`; `pattern` points at `pattern_len` bytes and `modifiers` at `modifiers_len`.
 */
void sa_writer_regexp(struct sa_writer *writer,
                      const uint8_t *pattern,
                      size_t pattern_len,
                      bool utf8,
                      const uint8_t *modifiers,
                      size_t modifiers_len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SHARED_ARENA_H */
